// quantize_linear and dequantize_linear around nodes that go to INT8.

#include <gtest/gtest.h>

#include "graph/parsed.h"
#include "graph/text/text.h"
#include "graph/verifier.h"
#include "ops/definition/recipe.h"
#include "passes/int8/int8_nodes.h"

namespace lanner::test {
namespace {

using passes::Int8Candidate;
using passes::StoredScale;

constexpr std::string_view network = R"(graph @g(%x: f32[1, 2, 4, 4]) -> (%y) {
  %a = constant() {weight = "a", value = f32[2, 2, 1, 1](1.0, -2.0, 0.0, 0.0)}
  %b = constant() {weight = "b", value = f32[2, 2, 1, 1](0.5, 4.0, 1.0, 1.0)}
  %c = conv(%x, %a)
  %r = relu(%c)
  %m = max_pool(%r) {kernel_shape = [2, 2], strides = [2, 2]}
  %d = conv(%m, %b)
  %y = add(%d, %m)
})";

TEST(Int8Nodes, CandidatesAreConvolutionsAndProductsWithConstantWeights) {
  const auto graph =
      parsed(R"(graph @g(%x: f32[1, 2, 4, 4], %v: f32[2, 2, 1, 1], %h: f16[2, 3]) -> (%c, %d, %p, %q) {
  %w = constant() {value = f32[2, 2, 1, 1](1.0, 2.0, 3.0, 4.0)}
  %m = constant() {value = f32[4, 2](1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)}
  %n = constant() {value = f16[3, 1](hex 003c00400042)}
  %c = conv(%x, %w)
  %d = conv(%x, %v)
  %p = matmul(%x, %m)
  %q = matmul(%h, %n)
})");
  const std::vector<Int8Candidate> found = passes::int8_candidates(*graph);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].node, "c");
  EXPECT_EQ(found[0].input, "x");
  EXPECT_EQ(found[0].weight_axis, 0);
  EXPECT_EQ(found[1].node, "p");
  EXPECT_EQ(found[1].weight_axis, 1);
  EXPECT_FALSE(passes::is_quantized(*graph));
}

TEST(Int8Nodes, ReadersShareRoundedValuesAndMoversReadThemToo) {
  const auto graph = parsed(network);
  const std::vector<Int8Candidate> found = passes::int8_candidates(*graph);
  ASSERT_EQ(found.size(), 2u);
  const std::map<std::string, StoredScale> scales{{"x", StoredScale::of(12.7, true)},
                                                  {"m", StoredScale::of(51, false)}};
  EXPECT_EQ(passes::quantize_nodes(*graph, found, scales), (std::vector<std::string>{"c", "d"}));
  verify(*graph);
  EXPECT_TRUE(passes::is_quantized(*graph));
  const Value* const pooled = graph->find("m")->producer()->input(0);
  EXPECT_EQ(pooled->producer()->kind(), "dequantize_linear"); // so that the maximum is of stored numbers
  EXPECT_EQ(pooled->producer()->input(0)->type.dtype(), DType::u8);
  EXPECT_EQ(graph->find("d")->producer()->input(0), graph->find("y")->producer()->input(1));
  const Node& x = *graph->find("c")->producer()->input(0)->producer();
  EXPECT_EQ(x.input(0)->type.dtype(), DType::i8);
  EXPECT_FLOAT_EQ(x.input(1)->constant()->as<float>()[0], 0.1F);
}

TEST(Int8Nodes, WeightsHaveAScaleForEachChannelAndStaySourceWeights) {
  const auto graph = parsed(network);
  passes::quantize_nodes(*graph, passes::int8_candidates(*graph),
                         {{"x", StoredScale::of(1, true)}, {"m", StoredScale::of(1, false)}});
  const Node& weights = *graph->find("c")->producer()->input(1)->producer();
  const auto stored = weights.input(0)->constant()->as<std::int8_t>();
  EXPECT_EQ(std::vector<int>(stored.begin(), stored.end()), (std::vector<int>{64, -127, 0, 0}));
  const auto scale = weights.input(1)->constant()->as<float>();
  EXPECT_FLOAT_EQ(scale[0], 2.0F / 127);
  EXPECT_GT(scale[1], 0); // of a channel of zeros
  EXPECT_FALSE(recipe_of(*weights.input(0)->producer()).literal());
  EXPECT_FALSE(recipe_of(*weights.input(1)->producer()).literal());
}

} // namespace
} // namespace lanner::test
