#include "output/visible.h"

#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace lanner::tool {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0; ///< 0: the text does not begin with a valid one.
};

/// The UTF-8 character (RFC 3629) that `text`, which is not empty, begins with.
Character first_character(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (at(0) < 0x80) return {at(0), 1};
  if (at(0) < 0xc2 || at(0) > 0xf4) return {};
  const std::size_t bytes = at(0) >= 0xf0 ? 4 : at(0) >= 0xe0 ? 3 : 2;
  if (text.size() < bytes) return {};
  std::uint32_t code = at(0) & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((at(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (at(i) & 0x3f);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool valid = code >= least[bytes] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  return valid ? Character{code, bytes} : Character{};
}

/// Unicode's Cc, and those of Cf, Zl and Zp that change direction or break a line (UAX 9, UAX 14).
bool is_control(std::uint32_t code) {
  constexpr std::pair<std::uint32_t, std::uint32_t> ranges[] = {
      {0, 0x1f}, {0x7f, 0x9f}, {0x61c, 0x61c}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};
  for (const auto& [first, last] : ranges)
    if (code >= first && code <= last) return true;
  return false;
}

/// Calls `escape(character, its bytes)` for characters to escape; copies the rest.
template<typename Escape>
std::string escaped(std::string_view text, Escape&& escape) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::string_view bytes = text.substr(0, character.bytes == 0 ? 1 : character.bytes);
    if (character.bytes == 0 || is_control(character.code))
      result += escape(character, bytes);
    else
      result += bytes;
    text.remove_prefix(bytes.size());
  }
  return result;
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return text;
}

} // namespace

std::string visible(std::string_view text) {
  return escaped(text, [](const Character& character, std::string_view bytes) {
    return character.bytes == 1 && character.code == '\n' ? std::string(bytes) : hex(bytes);
  });
}

std::string one_line(std::string_view text) {
  return escaped(text, [](const Character& character, std::string_view bytes) {
    return character.bytes == 1 && character.code == '\n' ? "\\n" : hex(bytes);
  });
}

std::string visible_json(std::string_view json) {
  return escaped(json, [](const Character& character, std::string_view bytes) {
    // Of those below a space, JSON's own layout uses only line feeds.
    return character.bytes == 0 || character.code < 0x20 ? std::string(bytes)
                                                         : fmt::format("\\u{:04x}", character.code);
  });
}

} // namespace lanner::tool
