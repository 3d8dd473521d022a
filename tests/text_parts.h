#pragma once
// Parts of logs, plans and other texts.

#include <cstddef>
#include <string>
#include <string_view>

namespace lanner::test {

/// How often `part` is in `text`.
inline std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// The text with `to` in place of every `from`.
inline std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

} // namespace lanner::test
