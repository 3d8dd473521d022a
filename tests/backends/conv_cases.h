#pragma once
// Convolution cases for the backends of CPU and GPU.

#include <ostream>
#include <string>

namespace lanner::test {

struct ConvCase {
  std::string input, weights, attributes, type = "f32";
};

inline void PrintTo(const ConvCase& c, std::ostream* out) {
  *out << c.type << " " << c.input << " * " << c.weights << " {" << c.attributes << "}";
}

/// Cases for which every backend with convolutions has kernels.
inline const ConvCase conv_cases[] = {
    {"[1, 3, 9, 11]", "[16, 3, 3, 3]", "pads = [1, 1, 1, 1]"},
    {"[2, 32, 7, 7]", "[48, 32, 1, 1]", ""},
    {"[2, 64, 7, 5]", "[64, 64, 3, 3]", "pads = [1, 1, 1, 1], strides = [2, 2]"},
    {"[1, 5, 9, 9]", "[7, 5, 3, 3]", "pads = [0, 1, 2, 1]"},
    {"[1, 24, 9, 9]", "[40, 24, 1, 1]", "strides = [2, 2]"},
    {"[1, 33, 10, 10]", "[17, 33, 3, 3]", "dilations = [2, 2], pads = [2, 2, 2, 2]"},
    {"[1, 32, 8, 8]", "[32, 1, 3, 3]", "group = 32, pads = [1, 1, 1, 1]"},
    {"[2, 24, 9, 9]", "[24, 1, 3, 3]", "group = 24, pads = [1, 1, 1, 1], strides = [2, 2]"},
    {"[1, 64, 6, 6]", "[64, 16, 3, 3]", "group = 4, pads = [1, 1, 1, 1]"},
    {"[1, 16, 10]", "[32, 16, 3]", "pads = [1, 1]"},
    {"[1, 8, 5, 6, 7]", "[16, 8, 3, 3, 3]", "pads = [1, 1, 1, 1, 1, 1]"},
    {"[1, 3, 32, 32]", "[64, 3, 7, 7]", "pads = [3, 3, 3, 3], strides = [2, 2]"},
    {"[1, 16, 8, 8]", "[16, 16, 3, 3]", "auto_pad = \"SAME_LOWER\", strides = [2, 2]"},
};

} // namespace lanner::test
