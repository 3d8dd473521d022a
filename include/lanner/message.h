#pragma once
// Text from outside in messages.

#include <string>
#include <string_view>

namespace lanner {

/// A message on one line of UTF-8: control characters, marks that turn the direction of writing, separators
/// of lines and bytes that are no UTF-8 are escaped as in C (`\n`, `\x1b`, `\u202e`), so that a name in it,
/// which may be anybody's, cannot be more than a name. What is longer than some thousand bytes loses its
/// middle: the end says what was expected. Every Error's message is so already.
std::string message_line(std::string_view text);

} // namespace lanner
