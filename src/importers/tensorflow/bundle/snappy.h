#pragma once
// Blocks compressed by snappy (github.com/google/snappy, format_description.txt).

#include <string>
#include <string_view>

#include <lanner/limits.h>

namespace lanner::tensorflow {

/// The content of a block. Throws Error{bad_data, limit_exceeded}.
std::string read_snappy(std::string_view block, const Limits& limits);

} // namespace lanner::tensorflow
