// Products whose weights stay quantised, against the definitions.

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "backends/tactic_check.h"
#include "graph/graph.h"

namespace lanner {
namespace {

struct QuantizedCase {
  std::string a, type, weights, scale, attributes;
  bool zero = false;
  bool taken = true;
};
void PrintTo(const QuantizedCase& c, std::ostream* out) {
  *out << c.a << " x " << c.type << c.weights << " by " << c.scale << " {" << c.attributes << "}"
       << (c.zero ? " with zero points" : "");
}

std::string text_of(const QuantizedCase& c) {
  const std::string stored = c.type + c.weights, zero = c.type + c.scale;
  const auto constant = [](std::string_view name, std::string_view type, int seed) {
    return fmt::format("  %{0}: {1} = constant() {{value = random({1}, seed = {2}, std = {3})}}\n", name,
                       type, seed, name == "s" ? "0.01" : "40.0");
  };
  std::string text = fmt::format("graph @g(%a: f32{}) -> (%y: f32[*] as \"y\") {{\n", c.a);
  text += constant("w", stored, 3) + constant("s", "f32" + c.scale, 4);
  if (c.zero) text += constant("z", zero, 5);
  text += fmt::format(
      "  %y: f32[*] = fused(%w, %s{0}, %a) {{kind = \"t\"}} ((%wi: {1}, %si: f32{2}{3}, %ai: f32{4}) "
      "-> (%r) {{\n    %d: f32{5} = dequantize_linear(%wi, %si{6}) {{{7}}}\n"
      "    %r: f32[*] = matmul(%ai, %d)\n  }})\n}}",
      c.zero ? ", %z" : "", stored, c.scale, c.zero ? ", %zi: " + zero : "", c.a, c.weights,
      c.zero ? ", %zi" : "", c.attributes);
  return text;
}

class QuantizedProducts : public testing::TestWithParam<QuantizedCase> {};

TEST_P(QuantizedProducts, AgreeWithTheDefinition) {
  const auto ran = check_tactics(text_of(GetParam()));
  if (GetParam().taken)
    expect_offered(ran, {"cpu/quantized_gemm"});
  else
    expect_refused(ran, {"cpu/quantized_gemm"});
}

const QuantizedCase cases[] = {
    {"[1, 64]", "i8", "[64, 300]", "[]", ""},
    {"[1, 64]", "i8", "[64, 300]", "[1]", "", true},
    {"[3, 65]", "i8", "[65, 513]", "[513]", "axis = 1"},
    {"[2, 4, 33]", "u8", "[33, 7]", "[7]", "axis = -1", true},
    {"[1, 70]", "i8", "[70, 258]", "[3, 258]", "axis = 0, block_size = 32", true},
    {"[1, 64]", "i4", "[64, 256]", "[2, 256]", "axis = 0, block_size = 32"},
    {"[1, 70]", "i4", "[70, 258]", "[3, 258]", "axis = 0, block_size = 32", true},
    {"[5, 31]", "u4", "[31, 34]", "[34]", "axis = 1", true},
    {"[8, 128]", "u4", "[128, 90]", "[8, 90]", "axis = 0, block_size = 16", true},
    {"[64]", "i8", "[64, 20]", "[20]", "axis = 1"},
    {"[1, 31]", "u4", "[31, 512]", "[]", ""},
    {"[3, 64]", "u8", "[64, 300]", "[1]", "", true},
    {"[2, 45]", "u4", "[45, 384]", "[1]", "", true},
    {"[4, 40]", "i4", "[40, 130]", "[130]", "axis = 1", true},
    {"[7, 70]", "u4", "[70, 640]", "[3, 640]", "axis = 0, block_size = 32", true},
    {"[6, 70]", "u8", "[70, 128]", "[3, 128]", "axis = 0, block_size = 32", true},
    {"[9, 64]", "i8", "[64, 300]", "[]", "", false, false},
    {"[1, 64]", "i4", "[64, 301]", "[]", "", false, false},
    {"[1, 64]", "i8", "[64, 300]", "[64]", "axis = 0", false, false},
    {"[1, 64]", "i8", "[64, 32]", "[64, 2]", "axis = 1, block_size = 16", false, false},
    {"[1, 64]", "i16", "[64, 32]", "[]", "", false, false},
};
INSTANTIATE_TEST_SUITE_P(Shapes, QuantizedProducts, testing::ValuesIn(cases));

} // namespace
} // namespace lanner
