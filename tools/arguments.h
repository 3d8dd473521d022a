#pragma once
// Values of the command line.

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lanner::tool {

/// `224x224`: width and height; `224`: both.
std::pair<std::int32_t, std::int32_t> parse_size(const std::string& text);
/// `0.485,0.456,0.406`, or one number for all three.
std::array<float, 3> parse_three(const std::string& text, const std::string& option);
/// `0,1` or `-1..1`.
std::array<float, 2> parse_range(const std::string& text, const std::string& option);
/// `1,8,32`: whole numbers from 1 up.
std::vector<int> parse_counts(const std::string& text, const char* option);
} // namespace lanner::tool
