#pragma once
// Values of the command line.

#include <string>
#include <vector>

namespace lanner::tool {

/// `1,8,32`: whole numbers from 1 up.
std::vector<int> parse_counts(const std::string& text, const char* option);

} // namespace lanner::tool
