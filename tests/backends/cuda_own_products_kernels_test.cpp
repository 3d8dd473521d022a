// Products and convolutions by the project's own tensor-core kernels: which tiles are tried, that their
// sources compile, and on a GPU that each tactic agrees with the definition.

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/cuda/families.h"
#include "backends/product/matrix_tiles.h"
#include "backends/tactic_check.h"
#include "device/cuda/driver.h"
#include "device/cuda/gpu.h"
#include "device/cuda/nvrtc.h"
#include "graph/parsed.h"

namespace lanner {
namespace {

cuda::MatrixProblem product(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  cuda::MatrixProblem p;
  p.rows = rows;
  p.columns = columns;
  p.depth = depth;
  p.a = {depth, false, 0};
  p.b = {columns, false, 0};
  p.leading = columns;
  return p;
}

TEST(MatrixTiles, AFewPlansThatFitTheGpu) {
  for (const auto& [rows, columns, depth] : {std::array{1, 1000, 2048}, std::array{6304, 3072, 768},
                                             std::array{1 << 20, 16, 8}, std::array{7, 3, 5}})
    for (const int capability : {80, 86, 89, 90, 120}) {
      const auto plans = cuda::matrix_plans(product(rows, columns, depth), {capability, 100});
      ASSERT_FALSE(plans.empty());
      EXPECT_LE(plans.size(), 5U);
      EXPECT_TRUE(std::ranges::is_sorted(plans, {}, &cuda::EstimatedPlan::seconds));
      for (const auto& [plan, seconds] : plans) {
        EXPECT_LE(plan.shared_bytes(), cuda::most_shared_bytes(capability));
        EXPECT_TRUE(!plan.tile.groups || capability == 90) << plan.tile.name();
        EXPECT_GT(seconds, 0);
        const auto tile = cuda::matrix_tile(plan.tile.name());
        ASSERT_TRUE(tile);
        EXPECT_EQ(tile->threads(), plan.tile.threads());
      }
    }
  EXPECT_FALSE(cuda::matrix_tile("17x3x5s1"));
}

TEST(MatrixTiles, LongSumsOfFewResultsAreSplit) {
  const auto plans = cuda::matrix_plans(product(16, 512, 25088), {90, 132});
  EXPECT_TRUE(std::ranges::any_of(plans, [](const auto& one) { return one.plan.split > 1; }));
  for (const auto& one : cuda::matrix_plans(product(100000, 512, 2048), {90, 132}))
    EXPECT_EQ(one.plan.split, 1);
}

TEST(MatrixTiles, WarpGroupsWhereSupported) {
  const auto groups_of = [](const cuda::MatrixProblem& problem, int capability) {
    return std::ranges::count_if(cuda::matrix_plans(problem, {capability, 132}),
                                 [](const auto& one) { return one.plan.tile.groups; });
  };
  cuda::MatrixProblem problem = product(6304, 3072, 768);
  EXPECT_GT(groups_of(problem, 90), 0);
  EXPECT_EQ(groups_of(problem, 80), 0);
  EXPECT_EQ(groups_of(problem, 100), 0);
  problem.a = {6304, true, 0};
  EXPECT_EQ(groups_of(problem, 90), 0);
}

TEST(MatrixTiles, SourcesCompile) {
  if (!cuda::nvrtc_status().found) GTEST_SKIP() << "no NVRTC: " << cuda::nvrtc_status().reason;
  for (const int capability : {80, 90})
    for (const std::int64_t columns : {24, 255, 1024}) {
      cuda::MatrixProblem problem = product(4096, columns, 320);
      problem.steps = {{&formula("add"), {}, cuda::MatrixOperand{DType::f32, Spread::channel, 0}},
                       {&formula("gelu"), {}, {}}};
      if (capability == 80) problem.type = DType::bf16;
      cuda::MatrixPlan plan = cuda::matrix_plans(problem, {capability, 100}).front().plan;
      plan.split = 2;
      EXPECT_FALSE(cuda::compile(cuda::matrix_source(plan), capability).empty());
      problem.type = problem.result = DType::f32;
      for (const auto& one : cuda::matrix_plans(problem, {capability, 100}))
        EXPECT_FALSE(cuda::compile(cuda::matrix_source(one.plan), capability).empty());
    }
}

/// Offsets of taps have 32 bits, which sizes below that limit do not imply.
TEST(OwnConv, WindowsOfMoreThan31BitsAreRefused) {
  const auto reason_of = [](const char* attributes) {
    const auto graph =
        test::parsed(fmt::format("graph @g(%x: f16[1, 8, 135], %w: f16[8, 8, 300]) -> (%y: f16[1, 8, 2] as "
                                 "\"y\") {{\n%y: f16[1, 8, 2] = conv(%x, %w) {{{}}}\n}}",
                                 attributes));
    const Node& node = *graph->body().nodes().back();
    Target target;
    target.device = {DeviceKind::cuda, 0};
    return cuda::own_conv_family.named(node, Group::of(node), target).reason;
  };
  EXPECT_EQ(reason_of("dilations = [7182220], pads = [0, 2147483647]"), "sizes exceed 31 bits");
}

std::string missing() {
  const cuda::DriverStatus& status = cuda::driver_status();
  if (status.devices == 0) return "no GPU: " + status.reason;
  return cuda::nvrtc_status().found ? "" : "no NVRTC: " + cuda::nvrtc_status().reason;
}

/// The fake GPU takes half a second for each kernel: every eighth case runs there, unless all are requested.
bool is_left_out(std::size_t number) {
  constexpr std::size_t every = 8;
  return cuda::Gpu::get({DeviceKind::cuda, 0}).name() == "Fake GPU" && !std::getenv("LANNER_EMULATE_ALL") &&
         number % every != 0;
}

TacticCheck on_gpu() {
  TacticCheck check;
  check.tolerance = 1e-4;
  check.device = {DeviceKind::cuda, 0};
  check.precisions = {DType::f32, DType::f16, DType::bf16};
  return check;
}

struct OwnCase {
  std::string parameters, body;
};
const OwnCase plain_cases[] = {
    {"%a: f32[1, 256], %b: f32[256, 256]", "matmul(%a, %b)"},
    {"%a: f32[3, 33], %b: f32[33, 7]", "matmul(%a, %b)"},
    {"%a: f32[200, 1030], %b: f32[1030, 130]", "matmul(%a, %b)"},
    {"%a: f16[197, 768], %b: f16[768, 300]", "matmul(%a, %b)"},
    {"%a: bf16[2, 5, 32], %b: bf16[32, 24]", "matmul(%a, %b)"},
    {"%a: f32[1, 2048], %b: f32[1000, 2048]", "gemm(%a, %b) {transB = 1}"},
    {"%a: f32[37, 5], %b: f32[37, 19]", "gemm(%a, %b) {transA = 1}"},
    {"%a: f32[40, 64], %b: f32[24, 40]", "gemm(%a, %b) {transA = 1, transB = 1}"},
    {"%a: f32[2, 4, 9, 8], %b: f32[2, 4, 8, 11]", "matmul(%a, %b)"},
    {"%a: f32[1, 9, 8], %b: f32[3, 8, 11]", "matmul(%a, %b)"},
    {"%a: f32[4, 70, 64], %b: f32[4, 64, 72]", "matmul(%a, %b)"},
    {"%x: f32[2, 16, 9, 7], %w: f32[24, 16, 3, 3]", "conv(%x, %w, _) {pads = [1, 1, 1, 1]}"},
    {"%x: f16[2, 64, 9, 7], %w: f16[40, 64, 3, 3]",
     "conv(%x, %w, _) {pads = [1, 1, 1, 1], strides = [2, 2]}"},
    {"%x: bf16[1, 3, 32, 32], %w: bf16[64, 3, 7, 7]",
     "conv(%x, %w, _) {pads = [3, 3, 3, 3], strides = [2, 2]}"},
    {"%x: f32[2, 40, 8, 9], %w: f32[24, 40, 1, 1]", "conv(%x, %w, _) {strides = [2, 2]}"},
    {"%x: f32[3, 64, 8, 8], %w: f32[255, 64, 1, 1]", "conv(%x, %w, _)"},
    {"%x: f32[1, 1, 12, 12], %w: f32[8, 1, 5, 5]", "conv(%x, %w, _)"},
    {"%x: f32[2, 8, 12, 12], %w: f32[1, 8, 3, 3]", "conv(%x, %w, _) {dilations = [2, 3]}"},
    {"%x: f32[2, 24, 40], %w: f32[16, 24, 5]", "conv(%x, %w, _) {pads = [2, 2]}"},
    {"%x: f32[1, 512, 4, 4], %w: f32[64, 512, 3, 3]", "conv(%x, %w, _) {pads = [1, 1, 1, 1]}"},
    {"%x: f32[5, 32, 1, 1], %w: f32[8, 32, 1, 1]", "conv(%x, %w, _)"},
    {"%x: f16[2, 64, 9, 7], %w: f16[48, 16, 3, 3]", "conv(%x, %w, _) {group = 4, pads = [1, 1, 1, 1]}"},
    {"%x: f32[1, 24, 8, 8], %w: f32[40, 6, 1, 1]", "conv(%x, %w, _) {group = 4}"},
    {"%x: f32[2, 256, 14, 14], %w: f32[256, 8, 3, 3]",
     "conv(%x, %w, _) {group = 32, pads = [1, 1, 1, 1], strides = [2, 2]}"},
};

class CudaOwnProduct : public testing::TestWithParam<std::size_t> {};
TEST_P(CudaOwnProduct, agrees_with_the_reference) {
  if (const std::string reason = missing(); !reason.empty()) GTEST_SKIP() << reason;
  const OwnCase& c = plain_cases[GetParam()];
  if (is_left_out(GetParam()))
    GTEST_SKIP() << "the fake GPU takes every eighth; LANNER_EMULATE_ALL=1 takes all";
  const std::string type =
      c.parameters.substr(c.parameters.find(": ") + 2, c.parameters.find('[') - c.parameters.find(": ") - 2);
  const bool conv = c.body.find("conv") != std::string::npos;
  const std::string ir = fmt::format("graph @g({}) -> (%y: {}[*] as \"y\") {{\n%y: {}[*] = {}\n}}",
                                     c.parameters, type, type, c.body);
  TacticCheck check = on_gpu();
  EXPECT_TRUE(check_tactics(ir, check).contains(conv ? "cuda/own_conv" : "cuda/own_gemm"));
  if (type != "f32") return;
  check.precisions = {DType::f32};
  EXPECT_TRUE(check_tactics(ir, check).contains(conv ? "cuda/own_conv" : "cuda/own_gemm"));
}

INSTANTIATE_TEST_SUITE_P(shapes, CudaOwnProduct, testing::Range(std::size_t{0}, std::size(plain_cases)));

const std::string steps[] = {
    "%r: f32[*] = relu(%p)\n",
    "%s: f32[*] = add(%p, %oi)\n%r: f32[*] = relu(%s)\n",
    "%s: f32[*] = gelu(%p)\n%r: f32[*] = add(%oi, %s)\n",
    "%s: f32[*] = sigmoid(%p)\n%r: f32[*] = mul(%p, %s)\n",
    "%s: f32[*] = mul(%p, %qi)\n%t: f32[*] = add(%s, %oi)\n%r: f32[*] = tanh(%t)\n",
    "%z: f32[] = constant() {value = f32[](0.0)}\n%m: f32[] = constant() {value = f32[](6.0)}\n"
    "%r: f32[*] = clip(%p, %z, %m)\n",
    "%s: f32[*] = max(%p, %oi)\n%r: f32[*] = sub(%qi, %s)\n",
};

class CudaOwnEpilogue : public testing::TestWithParam<std::size_t> {};
TEST_P(CudaOwnEpilogue, agrees_with_the_reference) {
  if (const std::string reason = missing(); !reason.empty()) GTEST_SKIP() << reason;
  if (is_left_out(GetParam()))
    GTEST_SKIP() << "the fake GPU takes every eighth; LANNER_EMULATE_ALL=1 takes all";
  const auto of_product = check_tactics(
      fmt::format(
          "graph @g(%a: f32[30, 32], %o: f32[30, 24], %q: f32[24]) -> (%y: f32[*] as \"y\") {{\n"
          "%b: f32[32, 24] = constant() {{value = random(f32[32, 24], seed = 5, std = 0.3)}}\n"
          "%c: f32[24] = constant() {{value = random(f32[24], seed = 6, std = 1.0)}}\n"
          "%y: f32[*] = fused(%a, %b, %c, %o, %q) {{kind = \"t\"}} ((%ai: f32[30, 32], %bi: f32[32, 24], "
          "%ci: f32[24], %oi: f32[30, 24], %qi: f32[24]) -> (%r) {{\n"
          "%p: f32[*] = gemm(%ai, %bi, %ci)\n{}}})\n}}",
          steps[GetParam()]),
      on_gpu());
  EXPECT_TRUE(of_product.contains("cuda/own_gemm"));
  EXPECT_TRUE(of_product.contains("cuda/own_gemm strided"));
  const auto of_conv = check_tactics(
      fmt::format(
          "graph @g(%a: f32[2, 16, 6, 6], %o: f32[2, 24, 6, 6], %q: f32[24, 1, 1]) -> (%y: f32[*] as \"y\") "
          "{{\n"
          "%b: f32[24, 16, 3, 3] = constant() {{value = random(f32[24, 16, 3, 3], seed = 5, std = 0.1)}}\n"
          "%c: f32[24] = constant() {{value = random(f32[24], seed = 6, std = 1.0)}}\n"
          "%y: f32[*] = fused(%a, %b, %c, %o, %q) {{kind = \"t\"}} ((%ai: f32[2, 16, 6, 6], "
          "%bi: f32[24, 16, 3, 3], %ci: f32[24], %oi: f32[2, 24, 6, 6], %qi: f32[24, 1, 1]) -> (%r) {{\n"
          "%p: f32[*] = conv(%ai, %bi, %ci) {{pads = [1, 1, 1, 1]}}\n{}}})\n}}",
          steps[GetParam()]),
      on_gpu());
  EXPECT_TRUE(of_conv.contains("cuda/own_conv"));
  EXPECT_TRUE(of_conv.contains("cuda/own_conv strided"));
}

INSTANTIATE_TEST_SUITE_P(steps, CudaOwnEpilogue, testing::Range(std::size_t{0}, std::size(steps)));

} // namespace
} // namespace lanner
