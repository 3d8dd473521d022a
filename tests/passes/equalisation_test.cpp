// Cross-layer equalisation: which nodes, by what scales, and that results stay the same.

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "graph/parsed.h"
#include "graph/verifier.h"
#include "ops/definition/recipe.h"
#include "passes/int8/equalisation.h"

namespace lanner::test {
namespace {

using passes::Int8Candidate;

std::vector<std::string> found_in(std::string_view text) {
  const auto graph = parsed(text);
  std::vector<std::string> names;
  for (const Int8Candidate& one : passes::equalisable(*graph, passes::int8_candidates(*graph)))
    names.push_back(one.node);
  return names;
}

std::string between(std::string_view nodes, std::string_view outputs = "%d") {
  return fmt::format(R"(graph @g(%x: f32[1, 2, 4, 4]) -> ({}) {{
  %a = constant() {{weight = "a", value = f32[2, 2, 1, 1](1.0, -2.0, 0.5, 0.25)}}
  %b = constant() {{weight = "b", value = f32[2, 2, 1, 1](0.5, 4.0, 1.0, 1.0)}}
  %c = conv(%x, %a)
{}
  %d = conv(%r, %b)
}})",
                     outputs, nodes);
}

TEST(Equalisation, IsOfCandidatesBehindConvolutionsThroughWhatKeepsScales) {
  const std::vector<std::string> second{"d"}, none;
  EXPECT_EQ(found_in(between("  %r = relu(%c)")), second);
  EXPECT_EQ(found_in(between("  %r = leaky_relu(%c) {alpha = 0.25}")), second);
  EXPECT_EQ(found_in(between("  %p = relu(%c)\n  %r = max_pool(%p) {kernel_shape = [2, 2]}")), second);
  EXPECT_EQ(found_in(between("  %r = sigmoid(%c)")), none);
  EXPECT_EQ(found_in(between("  %r = add(%c, %x)")), none);
  EXPECT_EQ(found_in(between("  %r = relu(%c)", "%d, %c")), none);
  EXPECT_EQ(found_in(between("  %r = relu(%c)\n  %e = neg(%r)", "%d, %e")), none);
}

TEST(Equalisation, BalancesValuesAgainstWeightsByPowersOfTwo) {
  const auto graph = parsed(between("  %r = relu(%c)"));
  const auto candidates = passes::equalisable(*graph, passes::int8_candidates(*graph));
  ASSERT_EQ(candidates.size(), 1u);
  // Shares of the weights: 1 and 1.
  EXPECT_EQ(passes::channel_scales(*graph, candidates[0], std::vector<float>{64, 1}),
            (std::vector<double>{4, 0.25}));
  EXPECT_EQ(passes::channel_scales(*graph, candidates[0], std::vector<float>{3, 3}),
            (std::vector<double>{1, 1}));
  EXPECT_EQ(passes::channel_scales(*graph, candidates[0], std::vector<float>{1e9F, 1}),
            (std::vector<double>{16, 1. / 16}));
  EXPECT_EQ(passes::channel_scales(*graph, candidates[0], std::vector<float>{0, 5}),
            (std::vector<double>{1, 1})); // always 0
}

std::vector<float> numbers(const Value* value) {
  const auto values = value->constant()->as<float>();
  return {values.begin(), values.end()};
}

TEST(Equalisation, DividesTheFirstWeightsAndMultipliesTheSecond) {
  const auto graph = parsed(R"(graph @g(%x: f32[1, 2, 4, 4]) -> (%d) {
  %a = constant() {weight = "a", value = f32[2, 2, 1, 1](1.0, -2.0, 0.5, 0.25)}
  %o = constant() {weight = "o", value = f32[2](8.0, 3.0)}
  %b = constant() {weight = "b", value = f32[2, 1, 1, 1](0.5, 4.0)}
  %c = conv(%x, %a, %o)
  %r = relu(%c)
  %d = conv(%r, %b) {group = 2}
})");
  const auto candidates = passes::equalisable(*graph, passes::int8_candidates(*graph));
  ASSERT_EQ(candidates.size(), 1u);
  ASSERT_TRUE(passes::equalise(*graph, candidates[0], {4, 0.5}));
  verify(*graph);
  const Node &first = *graph->find("c")->producer(), &second = *graph->find("d")->producer();
  EXPECT_EQ(numbers(first.input(1)), (std::vector<float>{0.25, -0.5, 1, 0.5}));
  EXPECT_EQ(numbers(first.input(2)), (std::vector<float>{2, 6}));
  EXPECT_EQ(numbers(second.input(1)), (std::vector<float>{2, 2}));
  for (const Value* value : {first.input(1), first.input(2), second.input(1)})
    EXPECT_FALSE(recipe_of(*value->producer()).literal()); // a refit scales other weights alike
}

TEST(Equalisation, OfProductsScalesRowsAndAddedBiases) {
  const auto graph = parsed(R"(graph @g(%x: f32[3, 2]) -> (%d) {
  %a = constant() {value = f32[2, 2](1.0, -2.0, 0.5, 0.25)}
  %o = constant() {value = f32[2](8.0, 3.0)}
  %b = constant() {value = f32[2, 3](1.0, 2.0, 3.0, 4.0, 5.0, 6.0)}
  %m = matmul(%x, %a)
  %c = add(%m, %o)
  %r = relu(%c)
  %d = matmul(%r, %b)
})");
  const auto candidates = passes::equalisable(*graph, passes::int8_candidates(*graph));
  ASSERT_EQ(candidates.size(), 1u);
  ASSERT_TRUE(passes::equalise(*graph, candidates[0], {4, 0.5}));
  verify(*graph);
  EXPECT_EQ(numbers(graph->find("m")->producer()->input(1)), (std::vector<float>{0.25, -4, 0.125, 0.5}));
  EXPECT_EQ(numbers(graph->find("c")->producer()->input(1)), (std::vector<float>{2, 6}));
  EXPECT_EQ(numbers(graph->find("d")->producer()->input(1)), (std::vector<float>{4, 8, 12, 2, 2.5, 3}));
}

} // namespace
} // namespace lanner::test
