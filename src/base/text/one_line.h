#pragma once
// Text from outside as a part of a message.

#include <cstddef>
#include <string>
#include <string_view>

namespace lanner {

/// `text` escaped as message_line() does it, of which at most `most` bytes are shown: what was cut ends in
/// `...`.
std::string one_line(std::string_view text, std::size_t most);

} // namespace lanner
