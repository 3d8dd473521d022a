#include "base/text/one_line.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include <fmt/format.h>

#include <lanner/message.h>

#include "base/text/utf8.h"

namespace lanner {
namespace {

/// Characters that move a terminal's cursor, end a line, or make text look like other text.
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
    const Utf8Character next = first_character(text);
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

/// At most `most` bytes from the start, never a part of a character.
std::string_view front_of(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most;
  for (int i = 0; i < 3 && end > 0 && continues_character(text[end]); ++i) --end;
  return text.substr(0, end);
}

std::string_view back_of(std::string_view text, std::size_t most) {
  std::size_t begin = text.size() - std::min(text.size(), most);
  for (int i = 0; i < 3 && begin < text.size() && continues_character(text[begin]); ++i) ++begin;
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
