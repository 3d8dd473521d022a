#pragma once
// Characters of UTF-8 text (RFC 3629).

#include <cstdint>
#include <string>
#include <string_view>

namespace lanner {

struct Utf8Character {
  std::uint32_t code = 0; ///< 0 where it is not valid.
  std::size_t bytes = 1;  ///< What it takes of the text; 1 where it is not valid.
  bool valid = false;
};

/// The first character of `text`, which is not empty. Not valid is a byte that begins none: one cut off,
/// written in more bytes than needed, half of a surrogate pair, or above U+10FFFF.
Utf8Character first_character(std::string_view text);

/// Whether a byte goes on with a character that an earlier one began.
inline bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

/// Appends the character U+`code`, below U+110000.
void append_utf8(std::string& text, std::uint32_t code);

} // namespace lanner
