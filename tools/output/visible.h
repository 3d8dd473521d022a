#pragma once
// Escapes text from outside, so that it is harmless on a terminal and a page.

#include <string>
#include <string_view>

namespace lanner::tool {

/// `text` with control characters (C0, DEL, C1), characters that change the writing direction or break the
/// line, and invalid UTF-8 as `\xHH`, byte by byte. Line feeds stay.
std::string visible(std::string_view text);
/// The same on one line: line feeds become `\n`.
std::string one_line(std::string_view text);
/// JSON with the same characters as `\uHHHH`; outside of strings there are none.
std::string visible_json(std::string_view json);

} // namespace lanner::tool
