// The fusions of TensorRT's guide by the CPU's own backends (docs/fusions.md): what becomes one step, and
// what must not. Those that are passes have their golden cases in tests/passes.

#include <algorithm>

#include <gtest/gtest.h>

#include "backends/backends.h"
#include "backends/tactic_check.h"
#include "graph/op.h"
#include "graph/parsed.h"
#include "lower/lower.h"
#include "lower/propose/groups.h"
#include "passes/pipeline.h"
#include "program/lowered/fused_name.h"
#include "program/lowered/lowered.h"

namespace lanner {
namespace {

using Texts = std::vector<std::string>;

/// Kind and name of each step of the lowered network that computes something.
Texts steps_of(std::string_view text) {
  auto graph = test::parsed(text);
  run_passes(*graph, {});
  const Target target;
  const auto backends = backends_for(target);
  TimingCache cache;
  WeightStore constants;
  Tuner tuner(target, 0, cache, constants, {});
  const Lowered lowered = lower(std::move(graph), {backends, target, tuner, constants, {}});
  Texts steps;
  for (const auto& node : lowered.graph->body().nodes())
    if (!is_constant(*node) && !is_conversion(*node) && node->tactic.backend != alias_backend)
      steps.push_back(shown_kind(*node) + ": " + fused_name(node->sources));
  return steps;
}

constexpr std::string_view weights =
    "  %w = constant() {value = random(f32[8, 8, 3, 3], seed = 1, std = 0.1)}\n"
    "  %b = constant() {value = random(f32[8], seed = 2, std = 0.1)}\n"
    "  %c = conv(%x, %w, %b) source(\"conv1\")\n";

Texts steps_behind_convolution(const std::string& inputs, const std::string& outputs,
                               const std::string& rest) {
  return steps_of("graph @g(%x: f32[1, 8, 9, 9]" + inputs + ") -> (" + outputs + ") {\n" +
                  std::string(weights) + rest + "}\n");
}

class GuideFusions : public testing::Test {
protected:
  void SetUp() override {
    if (const std::string why = missing_backend("onednn"); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_F(GuideFusions, ConvolutionAndRelu) {
  EXPECT_EQ(steps_behind_convolution("", "%y", "  %y = relu(%c) source(\"relu1\")\n"),
            (Texts{"conv+relu: conv1 + relu1"}));
}

TEST_F(GuideFusions, AConvolutionThatOthersReadStaysOne) {
  const Texts steps = steps_behind_convolution(
      "", "%y, %z", "  %y = relu(%c) source(\"relu1\")\n  %z = softmax(%c) {axis = 1} source(\"s\")\n");
  EXPECT_EQ(std::ranges::count(steps, "conv: conv1"), 1);
  EXPECT_EQ(std::ranges::count(steps, "relu: relu1"), 1);
}

TEST_F(GuideFusions, ConvolutionAndSum) {
  EXPECT_EQ(steps_behind_convolution(", %z: f32[1, 8, 7, 7]", "%y", "  %y = add(%c, %z) source(\"sum1\")\n"),
            (Texts{"conv+add: conv1 + sum1"}));
}

TEST_F(GuideFusions, ASumThatBroadcastsTheConvolutionIsAnother) {
  const Texts steps =
      steps_behind_convolution(", %z: f32[3, 8, 7, 7]", "%y", "  %y = add(%c, %z) source(\"sum1\")\n");
  EXPECT_EQ(std::ranges::count(steps, "conv: conv1"), 1);
}

TEST_F(GuideFusions, ConvolutionAndScale) {
  EXPECT_EQ(steps_behind_convolution("", "%y",
                                     "  %s = constant() {value = random(f32[8, 1, 1], seed = 3, std = 0.1)}\n"
                                     "  %y = mul(%c, %s) source(\"scale1\")\n"),
            (Texts{"conv: conv1 + scale1"}));
}

TEST(GuideFusion, ScaleAndActivation) {
  EXPECT_EQ(steps_of("graph @g(%x: f32[2, 8, 9, 9]) -> (%y) {\n"
                     "  %s = constant() {value = random(f32[8, 1, 1], seed = 3, std = 0.1)}\n"
                     "  %m = mul(%x, %s) source(\"scale1\")\n  %a = add(%m, %s) source(\"shift1\")\n"
                     "  %y = sigmoid(%a) source(\"act1\")\n}\n"),
            (Texts{"mul+add+sigmoid: scale1 + shift1 + act1"}));
}

/// Fully connected layers of one width, each but the last with a relu.
std::string layers(int count, const std::string& width, const std::string& rows,
                   const std::string& between = {}) {
  std::string text = "graph @g(%x: f32[" + rows + ", " + width + "]" +
                     (between.empty() ? "" : ", %o: f32[*]") + ") -> (%y) {\n",
              last = "x";
  if (!between.empty())
    text = "graph @g(%x: f32[" + rows + ", " + width + "], %o: f32[" + rows + ", " + width + "]) -> (%y) {\n";
  for (int i = 1; i <= count; ++i) {
    const std::string n = std::to_string(i);
    text += "  %w" + n + " = constant() {value = random(f32[" + width + ", " + width + "], seed = " + n +
            ", std = 0.1)}\n  %b" + n + " = constant() {value = random(f32[" + width + "], seed = 9" + n +
            ", std = 0.1)}\n  %p" + n + " = matmul(%" + last + ", %w" + n + ") source(\"ip" + n + "\")\n  %" +
            (i == count ? "y" : "s" + n) + " = add(%p" + n + ", %b" + n + ") source(\"ip" + n + "\")\n";
    if (i == count) break;
    text += "  %r" + n + " = relu(%s" + n + ") source(\"relu" + n + "\")\n";
    last = "r" + n;
    if (!between.empty() && i == 1) {
      text += between;
      last = "t";
    }
  }
  return text + "}\n";
}

/// Sizes of the groups with several products that the CPU's own backend proposes, in nodes.
std::vector<std::size_t> mlps_of(const std::string& text) {
  const auto graph = test::parsed(text);
  const Target target;
  std::vector<const Backend*> own;
  for (const Backend* backend : backends_for(target))
    if (backend->name() == "cpu") own.push_back(backend);
  std::vector<std::size_t> sizes;
  for (const ProposedGroup& group : proposed_groups(*graph, own, target)) {
    const auto products = std::ranges::count_if(
        group.nodes, [](const Node* node) { return pattern_of(*node) == Pattern::contraction; });
    if (products > 1) sizes.push_back(group.nodes.size());
  }
  return sizes;
}

TEST(GuideFusion, FullyConnectedAndRelu) {
  EXPECT_EQ(steps_of("graph @g(%x: f32[4, 256]) -> (%y) {\n"
                     "  %w = constant() {value = random(f32[256, 256], seed = 1, std = 0.1)}\n"
                     "  %b = constant() {value = random(f32[256], seed = 2, std = 0.1)}\n"
                     "  %p = matmul(%x, %w) source(\"ip1\")\n  %s = add(%p, %b) source(\"ip1\")\n"
                     "  %y = relu(%s) source(\"relu1\")\n}\n"),
            (Texts{"matmul+add+relu: ip1 + relu1"}));
}

TEST(GuideFusion, LayersAreAnMlp) {
  EXPECT_EQ(steps_of(layers(2, "16", "8")), (Texts{"2-layer MLP: ip1 + relu1 + ip2"}));
}

TEST(GuideFusion, AnMlpHasAtMost31Layers) {
  EXPECT_EQ(mlps_of(layers(31, "8", "4")), (std::vector<std::size_t>{31 * 3 - 1}));
  EXPECT_EQ(mlps_of(layers(32, "8", "4")), (std::vector<std::size_t>{31 * 3}));
  EXPECT_EQ(mlps_of(layers(33, "8", "4")), (std::vector<std::size_t>{31 * 3, 2 * 3 - 1}));
}

TEST(GuideFusion, LargeLayersAndManyRowsAreNoMlp) {
  EXPECT_TRUE(mlps_of(layers(2, "512", "8")).empty());
  EXPECT_TRUE(mlps_of(layers(2, "16", "65")).empty());
  EXPECT_EQ(mlps_of(layers(2, "16", "64")).size(), 1u);
}

TEST(GuideFusion, AnMlpHasProductsOfTwoDimsAlone) {
  EXPECT_TRUE(mlps_of(layers(2, "16", "2, 8")).empty());
}

TEST(GuideFusion, BetweenLayersAreActivationsAndSumsWithAConstantRow) {
  EXPECT_EQ(mlps_of(layers(2, "16", "8", "  %t = sigmoid(%r1)\n")).size(), 1u);
  EXPECT_TRUE(mlps_of(layers(2, "16", "8", "  %t = add(%r1, %o)\n")).empty());
  EXPECT_TRUE(mlps_of(layers(2, "16", "8", "  %t = softmax(%r1)\n")).empty());
  EXPECT_TRUE(mlps_of(layers(2, "16", "8", "  %t = mul(%r1, %r1)\n")).empty());
}

TEST(GuideFusion, AnMlpOfWeightsThatARunGivesIsNone) {
  EXPECT_TRUE(mlps_of("graph @g(%x: f32[8, 16], %w: f32[16, 16]) -> (%y) {\n"
                      "  %p = matmul(%x, %w)\n  %r = relu(%p)\n  %y = matmul(%r, %w)\n}\n")
                  .empty());
}

TEST(GuideFusion, ALayerThatOthersReadEndsAnMlp) {
  EXPECT_TRUE(mlps_of("graph @g(%x: f32[8, 16]) -> (%y, %r) {\n"
                      "  %w = constant() {value = random(f32[16, 16], seed = 1, std = 0.1)}\n"
                      "  %p = matmul(%x, %w)\n  %r = relu(%p)\n  %y = matmul(%r, %w)\n}\n")
                  .empty());
}

} // namespace
} // namespace lanner
