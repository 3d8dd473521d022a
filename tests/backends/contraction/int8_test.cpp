// Convolutions and products of bytes, by each set of functions that this processor can run, against the
// definitions.

#include <gtest/gtest.h>

#include "backends/backends.h"
#include "backends/config_text.h"
#include "backends/contraction/contraction_kernel.h"
#include "backends/contraction/int8_checks.h"
#include "backends/contraction/int8_draw.h"
#include "backends/contraction/int8_layers.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/tactic_check.h"
#include "device/cpu.h"

namespace lanner {
namespace {

using test::Int8Layer;
using test::Int8Text;
using test::LayerDraw;
using test::run_and_compare;

/// oneDNN's, which it offers where the processor has AVX512-VNNI.
void check_library(const NodeCase& c, const Target& target) {
  for (const Backend* backend : backends_for(target)) {
    if (backend->name() != "onednn") continue;
    for (const Tactic& tactic : backend->tactics(*c.node, target).tactics)
      if (tactic.kernel.starts_with("int8_")) run_and_compare(c, tactic, target, 0.01, *backend);
  }
}

/// Runs what the backend offers and each set of functions, on 1 and on 3 threads: the kernels that ran.
std::set<std::string> check_layer(const Int8Layer& layer) {
  Int8Text writer(layer);
  const std::string text = writer.text();
  const NodeCase c = make_case(text, writer.operands());
  std::set<std::string> ran;
  Target target;
  target.threads = 3;
  for (const Tactic& tactic : cpu_backend().tactics(*c.node, target).tactics) {
    if (!tactic.kernel.starts_with("int8_")) continue;
    run_and_compare(c, tactic, target);
    ran.insert(tactic.kernel);
  }
  check_library(c, target);
  std::string reason;
  const Group group = Group::of(*c.node);
  const auto contraction = contraction_of(group, layer.conv(), reason);
  EXPECT_TRUE(contraction) << reason << "\n" << text;
  if (!contraction) return ran;
  for (const BlockFunctions* functions : all_int8_functions()) {
    if (!contraction_refusal(*contraction, *functions).empty()) continue;
    auto tactic =
        contraction_tactic(*c.node, *contraction, *functions, layer.conv() ? "int8_conv" : "int8_matmul");
    EXPECT_TRUE(tactic);
    for (const RowForm form : row_forms(*contraction, *functions))
      for (const int threads : {1, 3}) {
        tactic->config = contraction_config(*functions, form, threads);
        run_and_compare(c, *tactic, target);
      }
  }
  return ran;
}

class Int8Layers : public testing::TestWithParam<Int8Layer> {};

TEST_P(Int8Layers, AgreeWithTheDefinition) {
  const std::set<std::string> ran = check_layer(GetParam());
  EXPECT_FALSE(ran.empty());
}

const Int8Layer layers[] = {
    {.input = {2, 16, 7, 5},
     .filter = {33, 16, 1, 1},
     .output = {2, 33, 7, 5},
     .steps = {"relu"},
     .result = "u8"},
    {.input = {1, 3, 13, 11},
     .filter = {17, 3, 3, 3},
     .output = {1, 17, 13, 11},
     .attributes = "pads = [1, 1, 1, 1]",
     .x_zero = 128,
     .result_zero = -5},
    {.input = {1, 3, 20, 20},
     .filter = {16, 3, 7, 7},
     .output = {1, 16, 10, 10},
     .attributes = "pads = [3, 3, 3, 3], strides = [2, 2]",
     .x_type = "i8",
     .x_zero = -7,
     .steps = {"relu"}},
    {.input = {1, 7, 9, 9},
     .filter = {7, 7, 3, 3},
     .output = {1, 7, 7, 7},
     .attributes = "dilations = [2, 1], pads = [1, 0, 1, 0]",
     .x_has_zero = false,
     .per_column = false,
     .steps = {"add_bytes", "relu"}},
    {.input = {3, 24, 6, 6},
     .filter = {40, 24, 3, 2},
     .output = {3, 40, 3, 7},
     .attributes = "strides = [2, 1], pads = [1, 1, 0, 1]",
     .x_type = "i8",
     .x_zero = 3,
     .bias = false,
     .steps = {"add_bytes"},
     .result = "u8",
     .result_zero = 100},
    {.input = {1, 16, 30},
     .filter = {20, 16, 5},
     .output = {1, 20, 30},
     .attributes = "pads = [2, 2]",
     .x_zero = 9,
     .steps = {"silu"}},
    {.input = {1, 32, 6, 6},
     .filter = {64, 8, 3, 3},
     .output = {1, 64, 6, 6},
     .attributes = "group = 4, pads = [1, 1, 1, 1]",
     .x_zero = 40,
     .steps = {"clip"}},
    {.input = {1, 6, 6, 6},
     .filter = {9, 2, 3, 3},
     .output = {1, 9, 4, 4},
     .attributes = "group = 3",
     .w_type = "u8",
     .w_zeros = 2,
     .result = "f32"},
    {.input = {2, 40, 9, 9},
     .filter = {40, 1, 3, 3},
     .output = {2, 40, 9, 9},
     .attributes = "group = 40, pads = [1, 1, 1, 1]",
     .x_zero = 128,
     .steps = {"clip"},
     .result = "u8"},
    {.input = {1, 17, 11, 12},
     .filter = {17, 1, 5, 3},
     .output = {1, 17, 6, 6},
     .attributes = "group = 17, pads = [2, 2, 2, 1], strides = [2, 2], dilations = [1, 2]",
     .x_type = "i8",
     .x_zero = -100,
     .steps = {"hard_swish", "mul_channel"}},
    {.input = {1, 64, 8, 8},
     .filter = {64, 1, 3, 3},
     .output = {1, 64, 4, 4},
     .attributes = "group = 64, pads = [1, 1, 1, 1], strides = [2, 2]",
     .w_zeros = 1,
     .steps = {"add_bytes", "relu"}},
    {.input = {5, 64}, .filter = {64, 50}, .output = {5, 50}, .x_zero = 77, .steps = {"add_channel", "relu"}},
    {.input = {1, 301},
     .filter = {301, 17},
     .output = {1, 17},
     .x_type = "i8",
     .steps = {"add_channel"},
     .result = "f32"},
    {.input = {2, 7, 33},
     .filter = {33, 7},
     .output = {2, 7, 7},
     .w_type = "u8",
     .w_zeros = 1,
     .per_column = false,
     .steps = {"add_bytes", "add_f32", "leaky_relu"},
     .result = "u8",
     .result_zero = 3},
    {.input = {48}, .filter = {48, 20}, .output = {20}, .steps = {"add_channel"}},
    {.input = {1, 512, 7, 7},
     .filter = {32, 512, 3, 3},
     .output = {1, 32, 7, 7},
     .attributes = "pads = [1, 1, 1, 1]",
     .x_zero = 10,
     .steps = {"add_bytes", "relu"},
     .result = "u8"},
    {.input = {5, 64, 6, 9}, // Rows that share pixels: several images, a padded line's value, signed x.
     .filter = {33, 64, 3, 2},
     .output = {5, 33, 7, 10},
     .attributes = "pads = [1, 1, 2, 1]",
     .x_type = "i8",
     .x_zero = -3,
     .steps = {"add_bytes", "relu"},
     .result = "u8"},
    {.input = {1, 64, 70, 120},
     .filter = {16, 64, 3, 3},
     .output = {1, 16, 66, 118},
     .attributes = "dilations = [2, 1]",
     .x_zero = 7,
     .steps = {"silu"}},
    {.input = {1, 32, 9, 9},
     .filter = {40, 32, 1, 1},
     .output = {1, 40, 9, 9},
     .steps = {"round_i8", "add_bytes", "relu"},
     .result = "u8"},
    {.input = {2, 24, 6, 6},
     .filter = {24, 1, 3, 3},
     .output = {2, 24, 6, 6},
     .attributes = "group = 24, pads = [1, 1, 1, 1]",
     .steps = {"relu", "round_u8", "add_bytes"},
     .result = "f32"},
    {.input = {7, 48}, .filter = {48, 20}, .output = {7, 20}, .steps = {"round_u8", "add_f32", "relu"}},
    {.input = {1, 64, 9, 9},
     .filter = {70, 64, 1, 1},
     .output = {1, 70, 9, 9},
     .x_zero = 7,
     .steps = {"round_u8", "add_bytes"},
     .result = "u8",
     .result_zero = 9},
    {.input = {33, 64}, .filter = {64, 40}, .output = {33, 40}, .steps = {"round_i8"}, .result_zero = -3},
    {.input = {2, 24, 6, 6},
     .filter = {24, 1, 3, 3},
     .output = {2, 24, 6, 6},
     .attributes = "group = 24, pads = [1, 1, 1, 1]",
     .steps = {"round_u8", "add_bytes", "clip"}},
};
INSTANTIATE_TEST_SUITE_P(Shapes, Int8Layers, testing::ValuesIn(layers));

TEST(Int8Layers, OfRandomShapesTypesAndSteps) {
  for (unsigned seed = 1; seed <= 150 && !HasFailure(); ++seed) {
    const Int8Layer layer = LayerDraw(seed).draw();
    SCOPED_TRACE(testing::PrintToString(layer));
    EXPECT_FALSE(check_layer(layer).empty());
  }
}

/// As a fused node of dequantize_linear of both operands, the anchor and what follows.
std::string fused_text(std::string_view x, std::string_view weights, std::string_view scale,
                       std::string_view rest) {
  return fmt::format(
      "graph @g(%x: {0}, %f: f32[2, 8]) -> (%y: i8[*] as \"y\") {{\n"
      "  %w: {1} = constant() {{value = random({1}, seed = 3, std = 40.0)}}\n"
      "  %s: f32[] = constant() {{value = f32[]({2})}}\n"
      "  %z: i8[] = constant() {{value = i8[](0)}}\n"
      "  %y: i8[*] = fused(%x, %w, %s, %z, %f) {{kind = \"t\"}} ((%xi: {0}, %wi: {1}, %si: f32[], "
      "%zi: i8[], %fi: f32[2, 8]) -> "
      "(%r) {{\n    %dx: f32[*] = dequantize_linear(%xi, %si)\n    %dw: f32[*] = "
      "dequantize_linear(%wi, %si)\n"
      "{3}  }})\n}}",
      x, weights, scale, rest);
}

const char* const plain =
    "    %p: f32[*] = matmul(%dx, %dw)\n    %r: i8[*] = quantize_linear(%p, %si, %zi)\n";

std::set<std::string> ran_for(const std::string& text) {
  return check_tactics(text);
}

TEST(Int8Refusals, UnusableScales) {
  expect_offered(ran_for(fused_text("u8[2, 16]", "i8[16, 8]", "0.5", plain)), {"cpu/int8_matmul"});
  for (const char* scale : {"0", "-0.5", "nan", "inf", "1e-30"})
    expect_refused(ran_for(fused_text("u8[2, 16]", "i8[16, 8]", scale, plain)), {"cpu/int8_matmul"});
}

TEST(Int8Refusals, SumsThatDoNotFit) {
  expect_offered(ran_for(fused_text("u8[2, 33025]", "i8[33025, 8]", "0.5", plain)), {"cpu/int8_matmul"});
  expect_refused(ran_for(fused_text("u8[2, 33026]", "i8[33026, 8]", "0.5", plain)), {"cpu/int8_matmul"});
}

TEST(Int8Refusals, OtherReadersOfAResultInside) {
  expect_refused(
      ran_for(fused_text("u8[2, 16]", "i8[16, 8]", "0.5",
                         "    %p: f32[*] = matmul(%dx, %dw)\n    %q: f32[*] = add(%p, %fi)\n"
                         "    %t: f32[*] = mul(%q, %p)\n    %r: i8[*] = quantize_linear(%t, %si, %zi)\n")),
      {"cpu/int8_matmul"});
}

/// NaN is the least stored number, also behind a relu and where a clamp would hide it.
TEST(Int8Results, OfNaN) {
  const std::string text =
      fused_text("u8[2, 16]", "i8[16, 8]", "0.5",
                 "    %p: f32[*] = matmul(%dx, %dw)\n    %q: f32[*] = add(%p, %fi)\n"
                 "    %t: f32[*] = relu(%q)\n    %r: i8[*] = quantize_linear(%t, %si, %zi)\n");
  const NodeCase drawn = make_case(text);
  Tensor reals = Tensor::zeros(DType::f32, Shape{2, 8});
  reals.as<float>()[3] = std::nanf("");
  reals.as<float>()[8] = -INFINITY;
  reals.as<float>()[9] = INFINITY;
  const NodeCase c = make_case(text, {drawn.inputs[0], reals});
  EXPECT_EQ(c.results[0].as<std::int8_t>()[3], -128);
  bool ran = false;
  for (const Tactic& tactic : cpu_backend().tactics(*c.node, {}).tactics) {
    if (tactic.kernel != "int8_matmul") continue;
    run_and_compare(c, tactic, {}, 0);
    ran = true;
  }
  EXPECT_TRUE(ran);
}

/// Where sums in 16 bits would saturate: the largest products of all sign combinations, exactly.
TEST(Int8Sums, OfTheLargestNumbersAreExact) {
  for (const char* x_type : {"u8", "i8"})
    for (const char* w_type : {"u8", "i8"})
      for (const int w : {-128, 127, 255})
        for (const int zero : {0, 127}) {
          if ((std::string(w_type) == "u8") != (w != -128 && w != 127)) continue;
          const std::string text =
              fmt::format("graph @g(%x: {0}[3, 66]) -> (%y: i32[*] as \"y\") {{\n"
                          "  %w: {1}[66, 18] = constant() {{value = {1}[66, 18]({2})}}\n"
                          "  %z: {0}[] = constant() {{value = {0}[]({3})}}\n"
                          "  %y: i32[*] = matmul_integer(%x, %w, %z)\n}}",
                          x_type, w_type, fmt::join(std::vector<int>(66 * 18, w), ", "), zero);
          Tensor x = Tensor::allocate(std::string(x_type) == "u8" ? DType::u8 : DType::i8, Shape{3, 66});
          for (std::size_t i = 0; i < x.bytes(); ++i)
            static_cast<unsigned char*>(x.data())[i] = i < 66 ? 0x80 : i < 132 ? 0x7F : 0xFF;
          const NodeCase c = make_case(text, {x});
          const Group group = Group::of(*c.node);
          std::string reason;
          const auto contraction = contraction_of(group, false, reason);
          ASSERT_TRUE(contraction) << reason;
          for (const BlockFunctions* functions : all_int8_functions()) {
            if (!contraction_refusal(*contraction, *functions).empty()) continue;
            SCOPED_TRACE(std::string(functions->name) + text.substr(0, 60));
            ReadyTactic ready = make_ready(
                c, cpu_backend(), *contraction_tactic(*c.node, *contraction, *functions, "int8_matmul"), {});
            ready.launch();
            EXPECT_EQ(std::memcmp(ready.outputs[0].data(), c.results[0].data(), c.results[0].bytes()), 0);
          }
        }
}

/// The operators on integers give the sums themselves, exactly.
TEST(Int8Sums, OfIntegerOperators) {
  const auto ran = [](std::string_view inputs, std::string_view weights, std::string_view more,
                      std::string_view node) {
    return check_tactics(
        fmt::format("graph @g({0}) -> (%y: i32[*] as \"y\") {{\n"
                    "  %w: {1} = constant() {{value = random({1}, seed = 3, std = 50.0)}}\n{2}"
                    "  %y: i32[*] = {3}\n}}",
                    inputs, weights, more, node));
  };
  const std::string zero = "  %z: u8[] = constant() {value = u8[](7)}\n",
                    zeros = "  %v: i8[5] = constant() {value = i8[5](-4, 0, 9, 127, -128)}\n",
                    one = "  %v: i8[] = constant() {value = i8[](-4)}\n";
  const std::vector<std::string> product{"cpu/int8_matmul"}, conv{"cpu/int8_conv"};
  expect_offered(ran("%x: u8[3, 40]", "i8[40, 5]", zero + zeros, "matmul_integer(%x, %w, %z, %v)"), product);
  expect_offered(ran("%x: u8[2, 3, 40], %z: u8[]", "i8[40, 30]", "", "matmul_integer(%x, %w, %z)"), product);
  expect_offered(ran("%x: i8[1, 17]", "u8[17, 33]", "", "matmul_integer(%x, %w)"), product);
  expect_offered(ran("%x: u8[2, 6, 9, 9], %z: u8[]", "i8[20, 6, 3, 3]", one,
                     "conv_integer(%x, %w, %z, %v) {pads = [1, 1, 1, 1]}"),
                 conv);
  expect_offered(ran("%x: u8[1, 8, 9, 9]", "i8[8, 1, 3, 3]", "", "conv_integer(%x, %w) {group = 8}"), conv);
  expect_refused(ran("%x: u8[3, 40], %z: u8[3]", "i8[40, 5]", "", "matmul_integer(%x, %w, %z)"), product);
}

/// As dynamic quantisation has it: the zero point and the scale of the sums are values of the run.
TEST(Int8Layers, WhoseZeroPointAndScaleTheRunGives) {
  const auto ran = [](std::string_view x, std::string_view w, std::string_view bias,
                      std::string_view anchor) {
    return check_tactics(fmt::format(
        "graph @g(%x: {0}, %z: u8[], %m: f32[]) -> (%y: f32[*] as \"y\") {{\n"
        "  %w: {1} = constant() {{value = random({1}, seed = 3, std = 40.0)}}\n"
        "  %b: {2} = constant() {{value = random({2}, seed = 4, std = 10.0)}}\n"
        "  %s: f32[] = constant() {{value = f32[](1)}}\n  %t: i8[] = constant() {{value = i8[](0)}}\n"
        "  %y: f32[*] = fused(%x, %w, %s, %z, %t, %m, %b) {{kind = \"t\"}} ((%xi: {0}, %wi: {1}, %si: f32[], "
        "%zi: u8[], %ti: i8[], %mi: f32[], %bi: {2}) -> (%r) {{\n"
        "    %dx: f32[*] = dequantize_linear(%xi, %si, %zi)\n    %dw: f32[*] = dequantize_linear(%wi, %si, "
        "%ti)\n"
        "    %p: f32[*] = {3}\n    %q: f32[*] = mul(%p, %mi)\n    %a: f32[*] = add(%q, %bi)\n"
        "    %r: f32[*] = relu(%a)\n  }})\n}}",
        x, w, bias, anchor));
  };
  expect_offered(ran("u8[3, 9, 40]", "i8[40, 21]", "f32[21]", "matmul(%dx, %dw)"), {"cpu/int8_matmul"});
  expect_offered(
      ran("u8[2, 9, 7, 6]", "i8[21, 9, 3, 3]", "f32[21, 1, 1]", "conv(%dx, %dw) {pads = [1, 1, 1, 1]}"),
      {"cpu/int8_conv"});
  expect_offered(ran("u8[2, 8, 7, 6]", "i8[8, 1, 3, 3]", "f32[8, 1, 1]", "conv(%dx, %dw) {group = 8}"),
                 {"cpu/int8_conv"});
}

/// Values that are parts of larger ones.
TEST(Int8Layers, LieWithinLargerValues) {
  const auto text = [](std::string_view x, std::string_view w, std::string_view anchor) {
    return fmt::format(
        "graph @g(%x: {0}) -> (%y: f32[*] as \"y\") {{\n"
        "  %w: {1} = constant() {{value = random({1}, seed = 3, std = 40.0)}}\n"
        "  %s: f32[] = constant() {{value = f32[](0.05)}}\n"
        "  %y: f32[*] = fused(%x, %w, %s) {{kind = \"t\"}} ((%xi: {0}, %wi: {1}, %si: f32[]) -> "
        "(%r) {{\n    %dx: f32[*] = dequantize_linear(%xi, %si)\n"
        "    %dw: f32[*] = dequantize_linear(%wi, %si)\n    %r: f32[*] = {2}\n  }})\n}}",
        x, w, anchor);
  };
  expect_offered(
      check_tactics(text("u8[2, 20, 7, 7]", "i8[33, 20, 3, 3]", "conv(%dx, %dw) {pads = [1, 1, 1, 1]}")),
      {"cpu/int8_conv strided"});
  expect_offered(check_tactics(text("i8[2, 7, 7, 7]", "i8[33, 7, 3, 3]", "conv(%dx, %dw)")),
                 {"cpu/int8_conv strided"});
  expect_offered(check_tactics(text("u8[2, 24, 7, 7]", "i8[24, 1, 3, 3]",
                                    "conv(%dx, %dw) {group = 24, pads = [1, 1, 1, 1]}")),
                 {"cpu/int8_depthwise strided"});
  expect_offered(check_tactics(text("u8[6, 33]", "i8[33, 18]", "matmul(%dx, %dw)")),
                 {"cpu/int8_matmul strided"});
}

/// Weights of any byte and zero point: each set of functions sums exactly, in place, gathered and padded. A
/// convolution to one pixel, whose result is the same in both orders.
TEST(Int8Sums, OfWeightsWithZeroPoints) {
  for (const char* weights : {"u8", "i8"})
    for (const char* x : {"u8", "i8"})
      for (const char* node :
           {"matmul_integer(%x, %w, %z, %v)", "conv_integer(%x, %w, %z, %v) {pads = [1, 1, 0, 0]}"}) {
        const bool conv = node[0] == 'c';
        const std::string type = fmt::format("{}{}", weights, conv ? "[70, 5, 3, 3]" : "[64, 70]");
        const NodeCase c = make_case(
            fmt::format("graph @g(%x: {0}{1}, %z: {0}[]) -> (%y: i32[*] as \"y\") {{\n"
                        "  %w: {2} = constant() {{value = random({2}, seed = 3, std = 90.0)}}\n"
                        "  %v: {3}[70] = constant() {{value = random({3}[70], seed = 5, std = 90.0)}}\n"
                        "  %y: i32[*] = {4}\n}}",
                        x, conv ? "[3, 5, 2, 2]" : "[9, 64]", type, weights, node));
        std::string reason;
        const auto contraction = contraction_of(Group::of(*c.node), conv, reason);
        ASSERT_TRUE(contraction) << reason;
        for (const BlockFunctions* functions : all_int8_functions()) {
          SCOPED_TRACE(fmt::format("{} {} {} {}", functions->name, x, weights, node));
          ASSERT_EQ(contraction_refusal(*contraction, *functions), "");
          ReadyTactic ready = make_ready(
              c, cpu_backend(),
              *contraction_tactic(*c.node, *contraction, *functions, conv ? "int8_conv" : "int8_matmul"), {});
          ready.launch();
          EXPECT_EQ(std::memcmp(ready.outputs[0].data(), c.results[0].data(), c.results[0].bytes()), 0);
        }
      }
}

TEST(BlockFunctions, OfVnniRunWhereTheProcessorHasIt) {
  const CpuFeatures& cpu = cpu_features();
  if (!cpu.avx_vnni && !cpu.avx512_vnni) GTEST_SKIP() << "this processor has no VNNI";
  EXPECT_TRUE(int8_functions(true).quads());
  EXPECT_FALSE(int8_functions(false).quads());
}

} // namespace
} // namespace lanner
