#pragma once
// Characters of UTF-8 text (RFC 3629).

#include <cstdint>
#include <string>
#include <string_view>

namespace lanner {

struct Utf8Character {
  std::uint32_t code = 0; ///< 0 for invalid text.
  std::size_t bytes = 1;  ///< Length in the text; 1 for invalid text.
  bool valid = false;
};

/// The first character of `text`, which is not empty. Invalid is a byte that begins no character: one cut
/// off, written in more bytes than needed, half of a surrogate pair, or above U+10FFFF.
Utf8Character first_character(std::string_view text);

/// Whether a byte is a continuation byte.
inline bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

/// Appends the character U+`code`, below U+110000.
void append_utf8(std::string& text, std::uint32_t code);

} // namespace lanner
