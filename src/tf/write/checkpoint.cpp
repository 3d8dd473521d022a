#include "tf/write/checkpoint.h"

#include <protozero/pbf_writer.hpp>
#include <protozero/varint.hpp>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/file/file.h"
#include "base/limits/account.h"
#include "tf/write/graph_def.h"
#include "tf/write/record_frame.h"
#include "tf/write/sorted_table.h"
#include "tf/write/tensor_proto.h"

namespace lanner::tf {
namespace {

using Bytes = std::span<const std::byte>;

Bytes bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// Lengths, their checksum, then the texts. The checksums count the lengths as fixed integers, of eight bytes
/// only where four are too few.
std::uint32_t write_texts(AtomicFile& file, std::span<const std::string> texts) {
  std::string lengths;
  std::uint32_t crc = 0;
  for (const std::string& text : texts) {
    protozero::write_varint(std::back_inserter(lengths), text.size());
    crc = crc32c(bytes_of(little_endian(text.size(), text.size() > 0xffffffff ? 8 : 4)), crc);
  }
  const std::string length_crc = little_endian(masked_crc32c(crc), 4);
  file.write(lengths);
  file.write(length_crc);
  crc = crc32c(bytes_of(length_crc), crc);
  for (const std::string& text : texts) {
    file.write(text);
    crc = crc32c(bytes_of(text), crc);
  }
  return crc;
}

std::uint32_t write_elements(AtomicFile& file, const Tensor& tensor) {
  constexpr std::size_t part = 1u << 24;
  std::uint32_t crc = 0;
  for (Bytes bytes = element_bytes(tensor); !bytes.empty();
       bytes = bytes.subspan(std::min(part, bytes.size()))) {
    check_deadline();
    const Bytes first = bytes.first(std::min(part, bytes.size()));
    file.write(first);
    crc = crc32c(first, crc);
  }
  return crc;
}

std::string header() {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  message.add_int32(1, 1); // shards
  protozero::pbf_writer version(message, 3);
  version.add_int32(1, 1);
  return bytes;
}

/// Writes the tensor's bytes; returns the index's entry.
std::string write_tensor(AtomicFile& data, const Tensor& given) {
  const Tensor tensor = plain(given);
  const DataType type = data_type_of(tensor.dtype());
  const std::uint64_t offset = data.position();
  const std::uint32_t crc = tensor.dtype() == DType::string ? write_texts(data, tensor.as<std::string>())
                                                            : write_elements(data, tensor);
  std::string entry;
  protozero::pbf_writer message(entry);
  message.add_enum(1, static_cast<std::int32_t>(type));
  message.add_message(2, serialized(PartialShape{tensor.shape().dims()}));
  message.add_int64(4, static_cast<std::int64_t>(offset));
  message.add_int64(5, static_cast<std::int64_t>(data.position() - offset));
  message.add_fixed32(6, masked_crc32c(crc));
  return entry;
}

} // namespace

void write_checkpoint(const std::filesystem::path& prefix, const std::map<std::string, Tensor>& tensors) {
  if (prefix.has_parent_path()) {
    std::error_code error;
    std::filesystem::create_directories(prefix.parent_path(), error);
    check(!error, ErrorCode::io, "{}: the folder cannot be made: {}", prefix.parent_path().string(),
          error.message());
  }
  SortedTable index;
  index.add("", header());
  AtomicFile data(prefix.string() + ".data-00000-of-00001");
  for (const auto& item : tensors) {
    check(!item.first.empty(), ErrorCode::invalid_argument, "{}: a tensor has no name", prefix.string());
    index.add(item.first, with_context([&] { return "tensor " + item.first; },
                                       [&] { return write_tensor(data, item.second); }));
  }
  data.commit();
  write_file(prefix.string() + ".index", bytes_of(index.finish()));
}

} // namespace lanner::tf
