#pragma once
// Values of the command line.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <lanner/engine.h>

namespace lanner::tool {

/// Seconds: `10s`, `500ms`, `2m`, `1.5`.
double parse_duration(const std::string& text);
/// `224x224`: width and height; `224`: both.
std::pair<std::int32_t, std::int32_t> parse_size(const std::string& text);
/// `input:1x3x224x224`, or min, opt and max: `input:1x3x8x8:4x3x8x8:8x3x8x8`. Names may hold
/// colons.
std::pair<std::string, ShapeRange> parse_shape(const std::string& text);
/// `x=1x8:4x8:16x8,mask=1x8:4x8:16x8`: min, opt and max shape of inputs, or one shape for all
/// three. Names may hold commas and equals signs.
std::map<std::string, ShapeRange> parse_profile(const std::string& text);
/// `0.485,0.456,0.406`, or one number for all three.
std::array<float, 3> parse_three(const std::string& text, const std::string& option);
/// `0,1` or `-1..1`.
std::array<float, 2> parse_range(const std::string& text, const std::string& option);
/// `1,8,32`: whole numbers from 1 up.
std::vector<int> parse_counts(const std::string& text, const char* option);
/// `4M`, `800k`, `2500000`: bits a second.
std::int64_t parse_bit_rate(const std::string& text);
/// `auto` is the best device of this build: the CPU.
Device parse_device(const std::string& text);

} // namespace lanner::tool
