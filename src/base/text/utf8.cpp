#include "base/text/utf8.h"

namespace lanner {

Utf8Character first_character(std::string_view text) {
  const auto head = static_cast<unsigned char>(text[0]);
  if (head < 0x80) return {head, 1, true};
  const std::size_t bytes = head >= 0xf0 ? 4 : head >= 0xe0 ? 3 : 2;
  if (head < 0xc2 || head > 0xf4 || text.size() < bytes) return {};
  std::uint32_t code = head & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if (!continues_character(text[i])) return {};
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3fu);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code < least[bytes] || code > 0x10ffff || surrogate) return {};
  return {code, bytes, true};
}

void append_utf8(std::string& text, std::uint32_t code) {
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

} // namespace lanner
