#include <array>
#include <set>

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/file/file.h"
#include "base/text/json.h"
#include "tensor/safetensors.h"
#include "tensor/safetensors_types.h"

namespace lanner {
namespace {

std::uint64_t padding_at(std::uint64_t offset) {
  return (safetensors_alignment - offset % safetensors_alignment) % safetensors_alignment;
}

nlohmann::ordered_json entry_json(DType type, const Shape& shape, std::uint64_t begin, std::uint64_t end) {
  return {{"dtype", safetensors_name(type)}, {"shape", shape.dims()}, {"data_offsets", {begin, end}}};
}

void require_item(const SafetensorsItem& item) {
  check(safetensors_has(item.dtype), ErrorCode::unsupported,
        "tensor \"{}\": safetensors has no type for {}; store its bytes as u8", item.name,
        to_string(item.dtype));
  check(item.name != safetensors_metadata_key && !is_safetensors_pad(item.name), ErrorCode::invalid_argument,
        "tensor \"{}\": the name is reserved", item.name);
  const std::uint64_t bytes = Layout{}.bytes(item.shape, item.dtype);
  check(bytes == item.bytes.size(), ErrorCode::invalid_argument,
        "tensor \"{}\": {} bytes given for {} {}, which takes {}", item.name, item.bytes.size(),
        to_string(item.dtype), item.shape.to_string(), bytes);
  check(bit_width(item.dtype) >= 8 || item.shape.elements() % 2 == 0, ErrorCode::unsupported,
        "tensor \"{}\": an odd number of {} elements does not fill whole bytes", item.name,
        to_string(item.dtype));
}

std::string header_of(std::span<const SafetensorsItem> items, const SafetensorsMetadata& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[std::string(safetensors_metadata_key)] = metadata;
  std::set<std::string_view> names;
  std::uint64_t at = 0, pads = 0;
  for (const SafetensorsItem& item : items) {
    check_deadline();
    require_item(item);
    check(names.insert(item.name).second, ErrorCode::invalid_argument, "tensor \"{}\" is given twice",
          item.name);
    if (const std::uint64_t padding = padding_at(at)) {
      append(header, fmt::format("{}{}", safetensors_pad_prefix, pads++),
             entry_json(DType::u8, Shape{static_cast<std::int64_t>(padding)}, at, at + padding));
      at += padding;
    }
    append(header, item.name, entry_json(item.dtype, item.shape, at, at + item.bytes.size()));
    at += item.bytes.size();
  }
  try {
    return exact_json_text(header);
  } catch (const Error&) {
    fail(ErrorCode::invalid_argument, "a name or a metadata value is not UTF-8");
  }
}

void write_padding(AtomicFile& file) {
  static constexpr std::array<std::byte, safetensors_alignment> zeros{};
  file.write(std::span(zeros).first(static_cast<std::size_t>(padding_at(file.position()))));
}

void write_header(AtomicFile& file, std::string header) {
  constexpr std::size_t prefix_bytes = 8;
  // Spaces after the object are part of the format.
  header.append(static_cast<std::size_t>(padding_at(prefix_bytes + header.size())), ' ');
  std::array<std::byte, prefix_bytes> prefix;
  for (std::size_t i = 0; i < prefix_bytes; ++i) prefix[i] = static_cast<std::byte>(header.size() >> (8 * i));
  file.write(prefix);
  file.write(header);
}

} // namespace

bool safetensors_has(DType type) noexcept {
  return !safetensors_name(type).empty();
}

SafetensorsItem safetensors_item(std::string name, const Tensor& tensor) {
  check(tensor.layout().row_major() && tensor.device().is_host(), ErrorCode::invalid_argument,
        "tensor \"{}\": layout {} on {}; only row-major host tensors are written", name,
        tensor.layout().to_string(), tensor.device().to_string());
  return {std::move(name),
          tensor.dtype(),
          tensor.shape(),
          {static_cast<const std::byte*>(tensor.data()), static_cast<std::size_t>(tensor.bytes())}};
}

void write_safetensors(const std::filesystem::path& path, std::span<const SafetensorsItem> items,
                       const SafetensorsMetadata& metadata, const BytesDone& done) {
  std::string header =
      with_context([&] { return path.string(); }, [&] { return header_of(items, metadata); });
  AtomicFile file(path);
  write_header(file, std::move(header));
  for (const SafetensorsItem& item : items) {
    write_padding(file);
    for_each_part(item.bytes, done, [&](std::span<const std::byte> part) { file.write(part); });
  }
  file.commit();
}

} // namespace lanner
