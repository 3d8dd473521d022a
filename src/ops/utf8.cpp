#include "ops/utf8.h"

namespace lanner::ops {

std::optional<std::uint32_t> next_code_point(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
  };
  const std::uint32_t first = byte(at);
  std::size_t length = 0;
  if (first < 0x80)
    length = 1;
  else if (first >= 0xc2 && first < 0xe0)
    length = 2;
  else if (first >= 0xe0 && first < 0xf0)
    length = 3;
  else if (first >= 0xf0 && first < 0xf5)
    length = 4;
  std::uint32_t code = length == 1 ? first : first & (0x7fu >> length);
  bool valid = length != 0 && at + length <= text.size();
  for (std::size_t i = 1; valid && i < length; ++i) {
    valid = (byte(at + i) & 0xc0u) == 0x80u;
    code = (code << 6) | (byte(at + i) & 0x3fu);
  }
  at += valid ? length : 1;
  if (!valid) return std::nullopt;
  return code;
}

void append_code_point(std::string& text, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  const auto tail = [&](unsigned shift) { put(0x80u | ((code >> shift) & 0x3fu)); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xc0u | (code >> 6));
    return tail(0);
  }
  if (code < 0x10000) {
    put(0xe0u | (code >> 12));
  } else {
    put(0xf0u | (code >> 18));
    tail(12);
  }
  tail(6);
  tail(0);
}

} // namespace lanner::ops
