#pragma once
// External text as part of a message.

#include <cstddef>
#include <string>
#include <string_view>

namespace lanner {

/// `text` escaped as message_line() does it, cut to at most `most` bytes; cut text ends in `...`.
std::string one_line(std::string_view text, std::size_t most);

} // namespace lanner
