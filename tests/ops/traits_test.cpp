// Traits of operators: every operator has them, they are consistent, and give the right results for nodes.

#include <gtest/gtest.h>

#include <set>

#include "graph/infer.h"
#include "graph/op.h"
#include "graph/text/text.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::test {

/// Calls `check(name, operator)` for each operator of the table.
template<typename Check>
static void for_each_operator(const Check& check) {
  const OpTable table = builtin_ops();
  for (const std::string& name : table.names()) {
    SCOPED_TRACE(name);
    check(name, table.get(name));
  }
}

TEST(OperatorTraits, EveryOperatorStatesAPattern) {
  for_each_operator(
      [](const std::string&, const OpDef& op) { EXPECT_NE(op.traits.pattern, Pattern::unstated); });
}

TEST(OperatorTraits, FlagsAreConsistentWithThePattern) {
  const std::set<Pattern> of_elements{Pattern::elementwise, Pattern::movement, Pattern::conversion,
                                      Pattern::text};
  const std::set<Pattern> sums{Pattern::contraction, Pattern::recurrent, Pattern::row};
  for_each_operator([&](const std::string&, const OpDef& op) {
    const Traits& traits = op.traits;
    const auto implies = [](bool a, bool b) { return !a || b; };
    EXPECT_TRUE(implies(op.elementwise, of_elements.contains(traits.pattern)));
    EXPECT_TRUE(
        implies(op.view, traits.pattern == Pattern::movement || traits.pattern == Pattern::conversion));
    EXPECT_TRUE(implies(sums.contains(traits.pattern), traits.accumulates));
    EXPECT_TRUE(implies(traits.pattern == Pattern::elementwise, !traits.accumulates));
    EXPECT_TRUE(implies(traits.pattern == Pattern::row || traits.pattern == Pattern::recurrent,
                        traits.line_length != nullptr));
    EXPECT_TRUE(implies(traits.per_image, traits.split != nullptr));
    EXPECT_TRUE(implies(traits.summed != nullptr, traits.pattern == Pattern::contraction));
    EXPECT_TRUE(implies(traits.control_inputs > 0, traits.pattern == Pattern::region));
    EXPECT_TRUE(implies(traits.index_input > 0, traits.index_input < op.max_inputs));
    EXPECT_TRUE(
        implies(traits.range.kind == ValueRange::Kind::fixed, traits.range.least < traits.range.most));
  });
}

/// Costs are estimated by it: a contraction without would pass for one that only moves its operands.
TEST(OperatorTraits, ContractionsCountTheirOperations) {
  const std::set<std::string> others{
      "conv_integer", "q_linear_conv", "matmul_integer", "q_linear_matmul",
      "dft",          "stft",          "einsum"}; // integers, fast transforms, expanded first
  for_each_operator([&](const std::string& name, const OpDef& op) {
    if (op.traits.pattern == Pattern::contraction && !others.contains(name))
      EXPECT_NE(op.traits.flops, nullptr);
  });
}

/// The only node of a graph, after inference.
class OneNode {
public:
  explicit OneNode(std::string_view text) : graph_(parse_graph(text, builtin_op_table())) {
    infer_types(*graph_);
  }
  const Node& operator*() const { return *graph_->body().nodes().back(); }
  const Traits& traits() const { return (**this).op().traits; }

private:
  std::unique_ptr<Graph> graph_;
};

TEST(OperatorTraits, FlopsAreTwoForEachProduct) {
  const OneNode conv("graph @g(%x: f32[2, 6, 8, 8], %w: f32[4, 3, 3, 3]) -> (%y) {\n"
                     "  %y = conv(%x, %w) {group = 2, pads = [1, 1, 1, 1]}\n}\n");
  EXPECT_EQ(conv.traits().flops(*conv), 2u * (2 * 4 * 8 * 8) * (3 * 3 * 3));
  const OneNode transposed("graph @g(%x: f32[1, 4, 8, 8], %w: f32[4, 3, 2, 2]) -> (%y) {\n"
                           "  %y = conv_transpose(%x, %w)\n}\n");
  EXPECT_EQ(transposed.traits().flops(*transposed), 2u * (4 * 8 * 8) * (3 * 2 * 2));
  const OneNode gemm("graph @g(%a: f32[7, 5], %b: f32[7, 3]) -> (%y) {\n"
                     "  %y = gemm(%a, %b) {transA = 1}\n}\n");
  EXPECT_EQ(gemm.traits().flops(*gemm), 2u * (5 * 3) * 7);
  const OneNode product("graph @g(%a: f32[2, 5, 7], %b: f32[7, 3]) -> (%y) {\n  %y = matmul(%a, %b)\n}\n");
  EXPECT_EQ(product.traits().flops(*product), 2u * (2 * 5 * 3) * 7);
}

TEST(OperatorTraits, SummedAxisHasTheSecondOperandsSize) {
  const OneNode conv("graph @g(%x: f32[2, 6, 8, 8], %w: f32[4, 3, 3, 3]) -> (%y) {\n"
                     "  %y = conv(%x, %w) {group = 2}\n}\n");
  const auto channels = conv.traits().summed(*conv);
  ASSERT_TRUE(channels);
  EXPECT_EQ(channels->axis, 1u);
  EXPECT_EQ(channels->size.constant(), 6);
  const OneNode gemm("graph @g(%a: f32[7, 5], %b: f32[3, 7]) -> (%y) {\n"
                     "  %y = gemm(%a, %b) {transA = 1, transB = 1}\n}\n");
  const auto depth = gemm.traits().summed(*gemm);
  ASSERT_TRUE(depth);
  EXPECT_EQ(depth->axis, 0u);
  EXPECT_EQ(depth->size.constant(), 7);
}

TEST(OperatorTraits, LineLengthIsThatOfTheNormalizedAxes) {
  const OneNode softmax("graph @g(%x: f32[2, 3, 5]) -> (%y) {\n  %y = softmax(%x) {axis = 1}\n}\n");
  EXPECT_EQ(softmax.traits().line_length(*softmax), 3);
  const OneNode layer("graph @g(%x: f32[2, 3, 5], %s: f32[3, 5]) -> (%y) {\n"
                      "  %y = layer_normalization(%x, %s) {axis = -2}\n}\n");
  EXPECT_EQ(layer.traits().line_length(*layer), 15);
  const OneNode group("graph @g(%x: f32[2, 6, 5, 5], %s: f32[6], %b: f32[6]) -> (%y) {\n"
                      "  %y = group_normalization(%x, %s, %b) {num_groups = 2}\n}\n");
  EXPECT_EQ(group.traits().line_length(*group), 3 * 25);
  const OneNode instance("graph @g(%x: f32[2, 6, 5, 5], %s: f32[6], %b: f32[6]) -> (%y) {\n"
                         "  %y = instance_normalization(%x, %s, %b)\n}\n");
  EXPECT_EQ(instance.traits().line_length(*instance), 25);
}

/// Whether `split` allows these operands in parts along axis 0, with the others shared.
static bool splits(const OneNode& node, std::set<std::size_t> in_parts) {
  Split split{*node, {}, {}};
  for (std::size_t i = 0; i < (*node).inputs().size(); ++i) {
    split.parts.push_back(in_parts.contains(i));
    split.shared.push_back(!in_parts.contains(i));
  }
  return node.traits().split && node.traits().split(split);
}

TEST(OperatorTraits, SplitIsAllowedWhereRowsAreIndependent) {
  const OneNode conv(
      "graph @g(%x: f32[2, 3, 8, 8], %w: f32[4, 3, 3, 3]) -> (%y) {\n  %y = conv(%x, %w)\n}\n");
  EXPECT_TRUE(splits(conv, {0}));
  EXPECT_FALSE(splits(conv, {1}));
  const OneNode along("graph @g(%x: f32[2, 3]) -> (%y) {\n  %y = softmax(%x) {axis = 0}\n}\n");
  EXPECT_FALSE(splits(along, {0}));
  const OneNode other("graph @g(%x: f32[2, 3]) -> (%y) {\n  %y = softmax(%x)\n}\n");
  EXPECT_TRUE(splits(other, {0}));
  const OneNode add("graph @g(%x: f32[2, 3], %b: f32[3]) -> (%y) {\n  %y = add(%x, %b)\n}\n");
  EXPECT_TRUE(splits(add, {0}));
  const OneNode rows("graph @g(%x: f32[2, 3], %b: f32[2, 1]) -> (%y) {\n  %y = add(%x, %b)\n}\n");
  EXPECT_FALSE(splits(rows, {0}));
  EXPECT_TRUE(splits(rows, {0, 1}));
  const OneNode order("graph @g(%x: f32[2, 3, 4]) -> (%y) {\n  %y = transpose(%x) {perm = [0, 2, 1]}\n}\n");
  EXPECT_TRUE(splits(order, {0}));
  const OneNode moved("graph @g(%x: f32[2, 3, 4]) -> (%y) {\n  %y = transpose(%x) {perm = [1, 0, 2]}\n}\n");
  EXPECT_FALSE(splits(moved, {0}));
}

} // namespace lanner::test
