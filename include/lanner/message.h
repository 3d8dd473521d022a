#pragma once
// Escapes external text in messages.

#include <string>
#include <string_view>

namespace lanner {

/// A message on one line of UTF-8: control characters, marks that change the direction of text, line
/// separators and invalid UTF-8 are escaped as in C (`\n`, `\x1b`, `\u202e`), so that an untrusted name in it
/// cannot pass as anything but a name. A text longer than some thousand bytes loses its middle: the end says
/// what was expected. Every Error's message is escaped already.
std::string message_line(std::string_view text);

} // namespace lanner
