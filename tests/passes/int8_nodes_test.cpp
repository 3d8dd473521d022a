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

/// A graph of one node in INT8 with a corrected bias, and what its bias is.
struct Corrected {
  std::unique_ptr<Graph> graph;
  std::vector<Int8Candidate> found;

  Corrected(std::string_view text, const passes::InputMeans& means)
      : graph(parsed(text)), found(passes::int8_candidates(*graph)) {
    passes::quantize_nodes(*graph, found, {{"x", StoredScale::of(1, true)}}, {{found.at(0).node, means}});
    verify(*graph);
  }
  const Node& node() const { return *graph->find(found.at(0).node)->producer(); }
  std::vector<float> numbers(std::size_t input) const {
    const auto values = node().input(input)->constant()->as<float>();
    return {values.begin(), values.end()};
  }
};

void expect_near(const std::vector<float>& got, const std::vector<float>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-6F) << i;
}

// Rows of weights have 127 as their largest, so that the others are rounded to whole numbers.
TEST(Int8Nodes, ACorrectionIsWhatRoundingTakesFromTheMean) {
  const Corrected made(R"(graph @g(%x: f32[1, 2, 4, 4]) -> (%y) {
  %w = constant() {weight = "w", value = f32[2, 2, 1, 2](127.0, 3.25, 1.0, -2.25, -127.0, 0.0, 0.4, 0.4)}
  %b = constant() {weight = "b", value = f32[2](10.0, 20.0)}
  %y = conv(%x, %w, %b)
})",
                       {{2, 4}, {0.5F, 0}});
  // Lost of the first row: 0.25 and -0.25, of channels with the means 2 and 4; of the second: 0.4 twice.
  expect_near(made.numbers(2),
              {10 + 0.25F * 2 - 0.25F * 4 + (127 + 3.25F) * 0.5F, 20 + 2 * 0.4F * 4 - 127 * 0.5F});
  EXPECT_FALSE(recipe_of(*made.node().input(2)->producer()).literal()); // a refit computes it again
}

TEST(Int8Nodes, ACorrectionIsTheBiasWhereThereIsNone) {
  const Corrected made(R"(graph @g(%x: f32[1, 4, 4, 4]) -> (%y) {
  %w = constant() {value = f32[2, 2, 1, 1](127.0, 3.25, -127.0, 0.5)}
  %y = conv(%x, %w) {group = 2}
})",
                       {{2, 4, 8, 16}, {0, 0, 0, 1}});
  // Groups read channels of their own.
  expect_near(made.numbers(2), {0.25F * 4, 0.5F * 16 + 0.5F});
}

TEST(Int8Nodes, ACorrectionIsAddedBehindAProduct) {
  const Corrected made(R"(graph @g(%x: f32[3, 2]) -> (%y, %z) {
  %w = constant() {value = f32[2, 3](127.0, 127.0, 0.25, 3.25, 0.0, 127.0)}
  %y = matmul(%x, %w)
  %z = relu(%y)
})",
                       {{2, 4}, {0, 1}});
  EXPECT_EQ(made.node().kind(), "add");
  EXPECT_EQ(made.node().input(0)->producer()->kind(), "matmul");
  EXPECT_EQ(made.graph->find("z")->producer()->input(0), made.node().output());
  expect_near(made.numbers(1), {0.25F * 4 + 3.25F, 0, 0.25F * 2 + 127});
}

TEST(Int8Nodes, SumsOfWeightsGiveTheSameCorrection) {
  const auto tensor = [](const std::vector<float>& values, const Shape& shape) {
    return Tensor::from<float>(values, shape);
  };
  const auto bytes = [](const std::vector<std::int8_t>& values, const Shape& shape) {
    return Tensor::from<std::int8_t>(values, shape);
  };
  const passes::InputMeans means{{2, 4, 8, 16}, {0, 0, 0, 1}};
  const passes::WeightSums grouped(tensor({127, 3.25, -127, 0.5}, {2, 2, 1, 1}),
                                   bytes({127, 3, -127, 0}, {2, 2, 1, 1}), tensor({1, 1}, {2}), 0, 2);
  EXPECT_EQ(grouped.correction(means), (std::vector<double>{1, 8.5}));
  const passes::WeightSums product(tensor({127, 127, 0.25, 3.25, 0, 127}, {2, 3}),
                                   bytes({127, 127, 0, 3, 0, 127}, {2, 3}), tensor({1, 1, 1}, {3}), 1, 1);
  EXPECT_EQ(product.correction({{2, 4}, {0, 1}}), (std::vector<double>{4.25, 0, 127.5}));
}

} // namespace
} // namespace lanner::test
