// The sample of the sweep over tactics in every test run: parts of common networks, at an odd batch and at
// one that several threads share.

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <lanner/error.h>

#include "device/cuda/driver.h"
#include "graph/text/text.h"
#include "ops/table/table.h"
#include "tactics/networks.h"
#include "tactics/tactic_run.h"

namespace lanner::sweep {
namespace {

constexpr int runs = 10;

/// Convolutions of every family, a residual, pools and their epilogues.
std::string vision(int batch) {
  return fmt::format("graph @vision(%x: f32[{0}, 8, 15, 15]) -> (%y) {{\n"
                     "  %w0 = constant() {{value = random(f32[16, 8, 3, 3], seed = 1, std = 0.1)}}\n"
                     "  %b0 = constant() {{value = random(f32[16], seed = 2, std = 0.1)}}\n"
                     "  %c0 = conv(%x, %w0, %b0) {{pads = [1, 1, 1, 1], strides = [2, 2]}}\n"
                     "  %r0 = relu(%c0)\n"
                     "  %w1 = constant() {{value = random(f32[16, 1, 3, 3], seed = 3, std = 0.3)}}\n"
                     "  %c1 = conv(%r0, %w1, _) {{group = 16, pads = [1, 1, 1, 1]}}\n"
                     "  %w2 = constant() {{value = random(f32[16, 16, 1, 1], seed = 4, std = 0.2)}}\n"
                     "  %c2 = conv(%c1, %w2, _)\n"
                     "  %s2 = add(%c2, %r0)\n"
                     "  %r2 = relu(%s2)\n"
                     "  %m = max_pool(%r2) {{kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]}}\n"
                     "  %g = sigmoid(%m)\n"
                     "  %p = mul(%m, %g)\n"
                     "  %y = global_average_pool(%p)\n"
                     "}}\n",
                     batch);
}

/// Products, norms, soft maxima and movement of transformers.
std::string language(int batch) {
  return fmt::format("graph @language(%x: f32[{0}, 9, 32]) -> (%y) {{\n"
                     "  %s = constant() {{value = random(f32[32], seed = 1, std = 0.5)}}\n"
                     "  %b = constant() {{value = random(f32[32], seed = 2, std = 0.1)}}\n"
                     "  %n = layer_normalization(%x, %s, %b)\n"
                     "  %w = constant() {{value = random(f32[32, 32], seed = 3, std = 0.2)}}\n"
                     "  %q = matmul(%n, %w)\n"
                     "  %k = transpose(%n) {{perm = [0, 2, 1]}}\n"
                     "  %d = matmul(%q, %k)\n"
                     "  %a = softmax(%d)\n"
                     "  %v = matmul(%a, %n)\n"
                     "  %r = add(%v, %x)\n"
                     "  %w1 = constant() {{value = random(f32[32, 48], seed = 4, std = 0.2)}}\n"
                     "  %b1 = constant() {{value = random(f32[48], seed = 5, std = 0.1)}}\n"
                     "  %h = matmul(%r, %w1)\n"
                     "  %i = add(%h, %b1)\n"
                     "  %y = gelu(%i)\n"
                     "}}\n",
                     batch);
}

/// As in rotary embeddings: one half is written as a part of the concatenation, the other copied into it.
constexpr const char* joined = "graph @joined(%x: f32[1, 4, 64, 64]) -> (%y) {\n"
                               "  %p = relu(%x)\n"
                               "  %s, %t = split(%p) {axis = 3, num_outputs = 2}\n"
                               "  %n = neg(%t)\n"
                               "  %c = concat(%n, %s) {axis = 3}\n"
                               "  %y = add(%c, %p)\n"
                               "}\n";

/// Tests the problems; returns the number of tactics.
std::size_t sweep(const Problems& problems, const Target& target, const Control& control) {
  std::size_t tried = 0;
  for (const Problem* problem : problems.sorted()) {
    ProblemRun run(*problem, target, runs, control);
    for (const Offer& offer : offers_of(*problem, target)) {
      const Finding finding = run.run(offer);
      EXPECT_EQ(finding.wrong + finding.untried, "")
          << problem->text << ": " << offer.backend->name() << " " << offer.tactic.kernel;
      if (finding.lost_device) return tried;
      ++tried;
    }
  }
  return tried;
}

/// Tests all offers for the nodes of a graph.
std::size_t sweep(const std::string& text, const std::string& precision, Device device) {
  Settings settings;
  settings.device = device;
  const Target target = target_of(settings, precision);
  const Control control;
  Problems problems;
  add_all(problems, parse_graph(text, builtin_op_table()), {"sample", precision, target}, control);
  return sweep(problems, target, control);
}

class TacticSample : public testing::TestWithParam<int> {};
class CudaTacticSample : public TacticSample {};

TEST_P(TacticSample, IsRight) {
  EXPECT_GT(sweep(vision(GetParam()), "fp32", {}), 20u);
  EXPECT_GT(sweep(language(GetParam()), "fp32", {}), 20u);
}

TEST(ChosenTactics, AreRightForPartsOfALargerValue) {
  const Settings settings;
  const Target target = target_of(settings, "fp32");
  const Control control;
  Problems problems;
  add_chosen(problems, parse_graph(joined, builtin_op_table()), {"sample", "fp32", target}, 0, control);
  EXPECT_GT(sweep(problems, target, control), 2u);
  std::size_t copies = 0;
  for (const Problem* problem : problems.sorted()) {
    copies += problem->node->kind() == "reorder";
    for (const Offer& offer : problem->offers)
      EXPECT_EQ(offer.tactic.outputs.at(0).parent, nullptr) << "of a graph that is gone: " << problem->text;
  }
  EXPECT_EQ(copies, 1u);
}

TEST_P(CudaTacticSample, IsRight) {
  const cuda::DriverStatus& status = cuda::driver_status();
  if (status.devices == 0) GTEST_SKIP() << "no GPU: " << status.reason;
  const Device gpu{DeviceKind::cuda, 0};
  for (const char* precision : {"fp32", "fp16", "bf16"}) {
    EXPECT_GT(sweep(vision(GetParam()), precision, gpu), 20u) << precision;
    EXPECT_GT(sweep(language(GetParam()), precision, gpu), 20u) << precision;
  }
}

INSTANTIATE_TEST_SUITE_P(Sweep, TacticSample, testing::Values(1, 3, 8));
INSTANTIATE_TEST_SUITE_P(Sweep, CudaTacticSample, testing::Values(1, 3, 8));

} // namespace
} // namespace lanner::sweep
