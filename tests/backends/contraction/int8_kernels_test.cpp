// Convolutions and products of bytes by a GPU's tensor cores, against the definitions; on the fake GPU too.

#include <cstdlib>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/backends.h"
#include "backends/contraction/int8_checks.h"
#include "backends/contraction/int8_draw.h"
#include "backends/contraction/int8_layers.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/tactic_check.h"
#include "device/cuda/driver.h"
#include "device/cuda/gpu.h"
#include "device/cuda/nvrtc.h"

namespace lanner {
namespace {

using test::Int8Layer;
using test::Int8Text;
using test::LayerDraw;

constexpr Device gpu{DeviceKind::cuda, 0};

class CudaInt8 : public testing::Test {
protected:
  void SetUp() override {
    const cuda::DriverStatus& status = cuda::driver_status();
    if (status.devices == 0) GTEST_SKIP() << "no GPU: " << status.reason;
    if (!cuda::nvrtc_status().found) GTEST_SKIP() << "no NVRTC: " << cuda::nvrtc_status().reason;
  }
  /// The fake GPU takes half a second for each kernel.
  static bool is_fake() {
    return cuda::Gpu::get(gpu).name() == "Fake GPU" && !std::getenv("LANNER_EMULATE_ALL");
  }
};

/// The kernels that ran. `most`: tactics.
std::set<std::string> check_on_gpu(const Int8Layer& layer, std::size_t most) {
  Int8Text writer(layer);
  const NodeCase c = make_case(writer.text(), writer.operands());
  Target target;
  target.device = gpu;
  std::set<std::string> ran;
  for (const Backend* backend : backends_for(target)) {
    if (backend->name() != "cuda") continue;
    for (const Tactic& tactic : backend->tactics(*c.node, target).tactics) {
      if (!tactic.kernel.starts_with("int8_") || most == 0) continue;
      --most;
      test::run_and_compare(c, tactic, target, 0.01, *backend);
      ran.insert(tactic.kernel);
    }
  }
  return ran;
}

const Int8Layer layers[] = {
    {.input = {2, 16, 7, 5},
     .filter = {33, 16, 1, 1},
     .output = {2, 33, 7, 5},
     .steps = {"relu"},
     .result = "u8"},
    {.input = {1, 4, 13, 11},
     .filter = {17, 4, 3, 3},
     .output = {1, 17, 13, 11},
     .attributes = "pads = [1, 1, 1, 1]",
     .x_zero = 128,
     .result_zero = -5},
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
    {.input = {5, 64}, .filter = {64, 50}, .output = {5, 50}, .x_zero = 77, .steps = {"add_channel", "relu"}},
    {.input = {2, 7, 64}, .filter = {64, 8}, .output = {2, 7, 8}, .steps = {"add_f32"}, .result = "f32"},
    {.input = {1, 256, 14, 14},
     .filter = {128, 256, 3, 3},
     .output = {1, 128, 14, 14},
     .attributes = "pads = [1, 1, 1, 1]",
     .x_has_zero = false,
     .steps = {"round_i8", "add_bytes", "relu"},
     .result = "u8"},
    {.input = {2, 128, 9, 9},
     .filter = {256, 128, 1, 1},
     .output = {2, 256, 5, 5},
     .attributes = "strides = [2, 2]",
     .x_zero = 3,
     .steps = {"gelu"}},
};

TEST_F(CudaInt8, layers_agree_with_the_definition) {
  for (const Int8Layer& layer : layers) {
    SCOPED_TRACE(testing::PrintToString(layer));
    EXPECT_EQ(check_on_gpu(layer, is_fake() ? 1 : 100),
              std::set<std::string>{layer.conv() ? "int8_conv" : "int8_matmul"});
  }
}

TEST_F(CudaInt8, layers_of_random_shapes_types_and_steps_agree) {
  std::size_t taken = 0;
  for (unsigned seed = 1; seed <= (is_fake() ? 8U : 200U) && !HasFailure(); ++seed) {
    const Int8Layer layer = LayerDraw(seed).draw();
    SCOPED_TRACE(testing::PrintToString(layer));
    taken += check_on_gpu(layer, is_fake() ? 1 : 100).size();
  }
  EXPECT_GT(taken, is_fake() ? 0U : 40U);
}

/// A convolution of halves whose result is rounded to bytes.
std::string rounded_convolution(const char* input, const char* filter, const char* attributes,
                                const char* type) {
  return fmt::format(
      "graph @g(%x: f32{0}) -> (%y: {3}[*] as \"y\") {{\n"
      "%w: f32{1} = constant() {{value = random(f32{1}, seed = 5, std = 0.2)}}\n"
      "%s: f32[] = constant() {{value = f32[](0.05)}}\n%z: {3}[] = constant() {{value = {3}[](7)}}\n"
      "%y: {3}[*] = fused(%x, %w, %s, %z) {{kind = \"t\"}} ((%xi: f32{0}, %wi: f32{1}, %si: f32[], "
      "%zi: {3}[]) -> (%r) {{\n%a: f32[*] = conv(%xi, %wi, _) {{{2}}}\n%b: f32[*] = relu(%a)\n"
      "%r: {3}[*] = quantize_linear(%b, %si, %zi)\n}})\n}}",
      input, filter, attributes, type);
}

TEST_F(CudaInt8, convolutions_of_halves_give_bytes) {
  Target target;
  target.device = gpu;
  target.precision.types = {DType::f32, DType::f16};
  std::set<std::string> ran;
  for (const char* type : {"i8", "u8"})
    for (const std::string& text :
         {rounded_convolution("[2, 3, 18, 20]", "[16, 3, 5, 5]", "pads = [2, 2, 2, 2], strides = [2, 2]",
                              type),
          rounded_convolution("[2, 16, 9, 7]", "[24, 16, 3, 3]", "pads = [1, 1, 1, 1]", type),
          rounded_convolution("[2, 24, 9, 7]", "[24, 1, 3, 3]", "group = 24, pads = [1, 1, 1, 1]", type)}) {
      const NodeCase c = make_case(text);
      // Operands are rounded to halves, so that numbers close to a tie are rounded either way.
      for (const TacticList& list :
           {cuda::backend().tactics(*c.node, target), cuda::backend().more_tactics(*c.node, target)})
        for (const Tactic& tactic : list.tactics) {
          test::run_and_compare(c, tactic, target, 0.2, cuda::backend());
          ran.insert(tactic.kernel);
        }
    }
  EXPECT_EQ(ran, (std::set<std::string>{"depthwise", "own_conv", "stem"}));
}

TEST_F(CudaInt8, integer_products_give_their_sums) {
  TacticCheck check;
  check.device = gpu;
  const auto of_product =
      check_tactics("graph @g(%x: u8[40, 64], %z: u8[]) -> (%y: i32[40, 24] as \"y\") {\n"
                    "%w: i8[64, 24] = constant() {value = random(i8[64, 24], seed = 5, std = 40.0)}\n"
                    "%y: i32[40, 24] = matmul_integer(%x, %w, %z)\n}",
                    check);
  EXPECT_TRUE(of_product.contains("cuda/int8_matmul"));
}

TEST_F(CudaInt8, largest_bytes_of_windows) {
  TacticCheck check;
  check.device = gpu;
  for (const char* type : {"i8", "u8"})
    for (const char* shape : {"[2, 16, 9, 7]", "[1, 3, 8, 8]"}) {
      const auto ran = check_tactics(
          fmt::format("graph @g(%x: {0}{1}) -> (%y: {0}[*] as \"y\") {{\n%y: {0}[*] = max_pool(%x) "
                      "{{kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]}}\n}}",
                      type, shape),
          check);
      EXPECT_TRUE(ran.contains("cuda/pool")) << type << shape;
    }
}

const char* const elementwise[] = {
    "(%x: f32[3, 8, 5, 7]) -> (%y: u8[3, 8, 5, 7] as \"y\") {\n%s: f32[] = constant() {value = "
    "f32[](0.031)}\n"
    "%z: u8[] = constant() {value = u8[](117)}\n%y: u8[3, 8, 5, 7] = quantize_linear(%x, %s, %z)\n}",
    "(%x: i8[3, 8, 5, 7]) -> (%y: f32[*] as \"y\") {\n"
    "%s: f32[8] = constant() {value = random(f32[8], seed = 2, std = 0.1)}\n"
    "%z: i8[8] = constant() {value = random(i8[8], seed = 3, std = 20.0)}\n"
    "%y: f32[*] = dequantize_linear(%x, %s, %z) {axis = 1}\n}",
    "(%x: f32[4, 6], %s: f32[], %z: i8[]) -> (%y: i8[4, 6] as \"y\") {\n"
    "%y: i8[4, 6] = quantize_linear(%x, %s, %z)\n}",
    "(%x: u8[2, 16, 6], %o: f32[2, 16, 6]) -> (%y: i8[2, 16, 6] as \"y\") {\n"
    "%s: f32[] = constant() {value = f32[](0.02)}\n%z: u8[] = constant() {value = u8[](128)}\n"
    "%w: i8[] = constant() {value = i8[](-3)}\n"
    "%y: i8[2, 16, 6] = fused(%x, %o, %s, %z, %w) {kind = \"t\"} ((%xi: u8[2, 16, 6], %oi: f32[2, 16, 6], "
    "%si: f32[], %zi: u8[], %wi: i8[]) -> (%r) {\n%a: f32[2, 16, 6] = dequantize_linear(%xi, %si, %zi)\n"
    "%b: f32[2, 16, 6] = add(%a, %oi)\n%c: f32[2, 16, 6] = sigmoid(%b)\n"
    "%r: i8[2, 16, 6] = quantize_linear(%c, %si, %wi)\n})\n}",
    "(%x: f32[2, 16, 6]) -> (%y: f32[*] as \"y\") {\n"
    "%s: f32[16] = constant() {value = f32[16](0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 0.1, 0.2, "
    "0.3, "
    "0.4, 0.5, 0.6)}\n"
    "%z: u8[16] = constant() {value = random(u8[16], seed = 3, std = 20.0)}\n"
    "%y: f32[*] = fused(%x, %s, %z) {kind = \"t\"} ((%xi: f32[2, 16, 6], %si: f32[16], %zi: u8[16]) -> (%r) "
    "{\n%a: u8[2, 16, 6] = quantize_linear(%xi, %si, %zi) {axis = 1}\n"
    "%r: f32[2, 16, 6] = dequantize_linear(%a, %si, %zi) {axis = 1}\n})\n}",
};

TEST_F(CudaInt8, elementwise_groups_quantise_and_dequantise) {
  TacticCheck check;
  check.device = gpu;
  check.tolerance = 1e-5;
  for (const char* text : elementwise)
    EXPECT_TRUE(check_tactics(fmt::format("graph @g{}", text), check).contains("cuda/elementwise")) << text;
}

} // namespace
} // namespace lanner
