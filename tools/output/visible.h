#pragma once
// Text from outside made harmless to show: what it says stays text on a terminal and on a page.

#include <string>
#include <string_view>

namespace lanner::tool {

/// `text` with every byte of a control character (C0, DEL, C1), of a mark that turns the writing direction or
/// breaks the line, and of what is no UTF-8 as `\xHH`. Line feeds stay.
std::string visible(std::string_view text);
/// The same on one line: line feeds become `\n`.
std::string one_line(std::string_view text);
/// JSON with the same characters as `\uHHHH`; they lie inside of strings only.
std::string visible_json(std::string_view json);

} // namespace lanner::tool
