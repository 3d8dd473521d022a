#include "importers/tensorflow/bundle/snappy.h"

#include <algorithm>

#include "base/check.h"
#include "base/limits/limit_error.h"
#include "importers/tensorflow/bundle/cursor.h"

namespace lanner::tensorflow {
namespace {

/// A copy of 3 bytes stands for at most 64.
constexpr std::uint64_t most_expansion = 64 / 3 + 1;

/// Appends `length` bytes that begin `offset` before the end; they may overlap what is appended.
void copy_back(std::string& content, std::uint64_t offset, std::uint64_t length, std::uint64_t size) {
  check(offset > 0 && offset <= content.size(), ErrorCode::bad_data,
        "snappy: a copy from {} bytes before byte {}", offset, content.size());
  check(length <= size - content.size(), ErrorCode::bad_data, "snappy: more than the {} bytes announced",
        size);
  for (std::uint64_t i = 0; i < length; ++i) content.push_back(content[content.size() - offset]);
}

std::uint64_t literal_length(Cursor& cursor, std::uint8_t tag) {
  const std::uint64_t length = tag >> 2;
  constexpr std::uint64_t longest_in_tag = 59;
  return (length <= longest_in_tag ? length : cursor.fixed(length - longest_in_tag)) + 1;
}

} // namespace

std::string read_snappy(std::string_view block, const Limits& limits) {
  Cursor cursor(block);
  const std::uint64_t size = cursor.varint();
  check(size <= block.size() * most_expansion, ErrorCode::bad_data, "snappy: {} bytes cannot unpack to {}",
        block.size(), size);
  check_limit("total_bytes", size, limits.total_bytes, "a block unpacks to {} bytes", size);
  std::string content;
  content.reserve(static_cast<std::size_t>(size));
  while (cursor.left() > 0) {
    const std::uint8_t tag = cursor.byte();
    switch (tag & 3) {
    case 0: {
      const std::string_view literal = cursor.take(literal_length(cursor, tag));
      check(literal.size() <= size - content.size(), ErrorCode::bad_data,
            "snappy: more than the {} bytes announced", size);
      content += literal;
      break;
    }
    case 1: {
      const std::uint64_t low = cursor.byte();
      copy_back(content, static_cast<std::uint64_t>(tag >> 5) << 8 | low, 4 + (tag >> 2 & 7), size);
      break;
    }
    default:
      copy_back(content, cursor.fixed((tag & 3) == 2 ? 2 : 4), (tag >> 2) + 1, size);
    }
  }
  check(content.size() == size, ErrorCode::bad_data, "snappy: {} bytes announced, {} unpacked", size,
        content.size());
  return content;
}

} // namespace lanner::tensorflow
