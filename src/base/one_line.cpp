#include "base/one_line.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include <fmt/format.h>

#include <lanner/message.h>

namespace lanner {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
  bool valid = false;
};

bool continues(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

/// The first character of UTF-8 text, which is not empty.
Character first_character(std::string_view text) {
  const auto head = static_cast<unsigned char>(text[0]);
  if (head < 0x80) return {head, 1, true};
  const std::size_t bytes = head >= 0xf0 ? 4 : head >= 0xe0 ? 3 : 2;
  if (head < 0xc2 || head > 0xf4 || text.size() < bytes) return {};
  std::uint32_t code = head & (0xffu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if (!continues(text[i])) return {};
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3fu);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return {code, bytes, code >= least[bytes] && code <= 0x10ffff && !surrogate};
}

/// What moves a terminal's cursor, ends a line, or makes text look like another.
bool is_control(std::uint32_t code) {
  const auto within = [&](std::uint32_t first, std::uint32_t last) { return code >= first && code <= last; };
  return code < 0x20 || within(0x7f, 0x9f) || within(0x200e, 0x200f) || within(0x2028, 0x202e) ||
         within(0x2066, 0x2069) || code == 0x061c || code == 0xfeff;
}

void append_escaped(std::string& line, std::uint32_t code) {
  const auto out = std::back_inserter(line);
  if (code == '\n')
    line += "\\n";
  else if (code == '\r')
    line += "\\r";
  else if (code == '\t')
    line += "\\t";
  else if (code <= 0xff)
    fmt::format_to(out, "\\x{:02x}", code);
  else
    fmt::format_to(out, "\\u{:04x}", code);
}

std::string escaped(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  while (!text.empty()) {
    const Character next = first_character(text);
    if (!next.valid)
      append_escaped(line, static_cast<unsigned char>(text[0]));
    else if (is_control(next.code))
      append_escaped(line, next.code);
    else
      line += text.substr(0, next.bytes);
    text.remove_prefix(next.valid ? next.bytes : 1);
  }
  return line;
}

/// At most `most` bytes from the front, never a part of a character.
std::string_view front_of(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most;
  for (int i = 0; i < 3 && end > 0 && continues(text[end]); ++i) --end;
  return text.substr(0, end);
}

std::string_view back_of(std::string_view text, std::size_t most) {
  std::size_t begin = text.size() - std::min(text.size(), most);
  for (int i = 0; i < 3 && begin < text.size() && continues(text[begin]); ++i) ++begin;
  return text.substr(begin);
}

} // namespace

std::string one_line(std::string_view text, std::size_t most) {
  const std::string line = escaped(front_of(text, most));
  return text.size() > most ? line + "..." : line;
}

std::string message_line(std::string_view text) {
  constexpr std::size_t front = 3000, back = 1000; // a list of all codecs or operators fits
  if (text.size() <= front + back) return escaped(text);
  return escaped(front_of(text, front)) + " ... " + escaped(back_of(text, back));
}

} // namespace lanner
