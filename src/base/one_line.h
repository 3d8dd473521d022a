#pragma once
// Text from outside as a part of a message.

#include <cstddef>
#include <string>
#include <string_view>

namespace lanner {

/// `text` with every control character as `?`, cut after `most` bytes (then it ends in `...`).
std::string one_line(std::string_view text, std::size_t most);

} // namespace lanner
