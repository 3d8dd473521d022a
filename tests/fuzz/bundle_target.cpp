#include <algorithm>
#include <stdexcept>
#include <string>

#include <lanner/error.h>

#include "base/crc32c.h"
#include "base/file/cache_file.h"
#include "fuzz/folder.h"
#include "fuzz/targets.h"
#include "importers/tensorflow/bundle/bundle.h"

namespace lanner::fuzz {
namespace {

void append(std::string& file, std::uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) file.push_back(static_cast<char>(number >> (8 * i)));
}

void append_varint(std::string& file, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) file.push_back(static_cast<char>(number | 0x80));
  file.push_back(static_cast<char>(number));
}

/// Appends a block whose checksum is right; returns where it is.
std::string append_block(std::string& file, std::string_view content, char type) {
  std::string handle;
  append_varint(handle, file.size());
  append_varint(handle, content.size());
  const std::string typed = std::string(content) + type;
  file += typed;
  append(file, masked_crc32c(crc32c(std::as_bytes(std::span(typed)))), 4);
  return handle;
}

/// A table with one block of rows.
std::string table_of(std::string_view block, char type) {
  std::string file;
  const std::string rows = append_block(file, block, type);
  std::string index{'\0', '\1'};
  append_varint(index, rows.size());
  index += "z" + rows;
  append(index, 0, 4);
  append(index, 1, 4);
  std::string footer = append_block(file, std::string(8, '\0'), 0);
  footer += append_block(file, index, 0);
  footer.resize(40);
  append(footer, 0xdb4775248b80fb57, 8);
  return file + footer;
}

} // namespace

/// How the index is given (0: the file; else one block of it, whose checksums are right then, 2: compressed),
/// its length in two bytes, the index, and the first shard.
void read_bundle(std::span<const std::byte> input) {
  static const Folder folder("bundle");
  constexpr std::size_t begin = 3;
  const std::string_view text = as_text(input);
  if (text.size() < begin) return;
  const std::size_t length = static_cast<std::uint8_t>(text[1]) | static_cast<std::uint8_t>(text[2]) << 8;
  const std::string_view index = text.substr(begin, length), shard = text.substr(begin + index.size());
  const std::string file = text[0] == 0 ? std::string(index) : table_of(index, text[0] == 2 ? 1 : 0);
  if (!write_cache_file(folder / "m.index", file) ||
      !write_cache_file(folder / "m.data-00000-of-00001", shard))
    throw std::logic_error("a file was not written");
  const auto bundle = tensorflow::Bundle::open(folder / "m", small_limits());
  for (const std::string& key : bundle.keys()) {
    try {
      bundle.read(key);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::internal) throw;
    }
  }
}

} // namespace lanner::fuzz
