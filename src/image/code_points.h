#pragma once
// H.273's code points of colour primaries and transfer characteristics (Tables 2 and 3), by FFmpeg's names.

#include <cstdint>
#include <string_view>

namespace lanner {

struct CodePoint {
  std::string_view name;
  std::uint8_t code;
};

inline constexpr CodePoint primaries_points[] = {
    {"bt709", 1}, {"unspecified", 2}, {"bt470m", 4},    {"bt470bg", 5},   {"smpte170m", 6}, {"smpte240m", 7},
    {"film", 8},  {"bt2020", 9},      {"smpte428", 10}, {"smpte431", 11}, {"smpte432", 12}, {"ebu3213", 22},
};
inline constexpr CodePoint transfer_points[] = {
    {"bt709", 1},     {"unspecified", 2},   {"gamma22", 4},    {"gamma28", 5},    {"smpte170m", 6},
    {"smpte240m", 7}, {"linear", 8},        {"log100", 9},     {"log316", 10},    {"iec61966-2-4", 11},
    {"bt1361e", 12},  {"iec61966-2-1", 13}, {"bt2020-10", 14}, {"bt2020-12", 15}, {"smpte2084", 16},
    {"smpte428", 17}, {"arib-std-b67", 18},
};

} // namespace lanner
