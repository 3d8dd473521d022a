#pragma once
// Parsers of option values.

#include <string>
#include <vector>

namespace lanner::tool {

/// `1,8,32`: integers from 1.
std::vector<int> parse_counts(const std::string& text, const char* option);

} // namespace lanner::tool
