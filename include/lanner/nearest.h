#pragma once
// Suggestions for misspelt names.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lanner {

/// Up to `most` of `names` that are similar to `name`, nearest first.
std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& names,
                                       std::size_t most = 3);

/// `; did you mean a, b?` for the end of a message, or nothing.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& names);

} // namespace lanner
