// Values of masks that a narrow type does not hold with scores added to them.

#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/parsed.h"
#include "graph/text/text.h"
#include "graph/verifier.h"
#include "passes/passes.h"

namespace lanner::test {
namespace {

/// The value of the constant that `%c` of this graph is after the pass.
double bounded(std::string_view text, DType narrow) {
  const auto graph = parsed(text);
  const bool changed = passes::bound_masks(*graph, narrow);
  verify(*graph);
  for (const auto& node : graph->body().nodes()) {
    if (node->output()->name() != "c") continue;
    const double value = node->output()->constant()->as<float>()[0];
    EXPECT_EQ(changed, value > -3.4e38);
    return value;
  }
  ADD_FAILURE() << "no constant %c in " << print(*graph);
  return NAN;
}

/// A network whose last node gives %y; %m is a mask of 1 where a key counts, %x the scores.
std::string network(std::string_view nodes, std::string_view value = "-3.4028234663852886e38") {
  return fmt::format(R"(graph @g(%m: i64[1, 4], %x: f32[3, 4]) -> (%y) {{
  %c = constant() {{value = f32[]({})}}
  %one = constant() {{value = f32[](1.0)}}
  %f = cast(%m) {{to = f32}}
  %o = sub(%one, %f)
{}}})",
                     value, nodes);
}

constexpr double half_of_f16 = 32752, half_of_bf16 = 0x1.fep126, lowest = -3.4028234663852886e38;

TEST(BoundMasks, AFactorOfAMaskLeavesRoomForScores) {
  const std::string text = network(R"(  %p = mul(%o, %c)
  %s = add(%x, %p)
  %y = softmax(%s) {axis = -1}
)");
  EXPECT_EQ(bounded(text, DType::f16), -half_of_f16);
  EXPECT_EQ(bounded(text, DType::bf16), -half_of_bf16);
}

TEST(BoundMasks, ABranchOfWhereAndMovedMasksToo) {
  EXPECT_EQ(bounded(network(R"(  %b = cast(%m) {to = bool}
  %s = where(%b, %x, %c)
  %y = softmax(%s) {axis = -1}
)"),
                    DType::f16),
            -half_of_f16);
  EXPECT_EQ(bounded(network(R"(  %n = constant() {value = i64[2](3, 4)}
  %e = expand(%c, %n)
  %p = mul(%e, %o)
  %s = max(%x, %p)
  %y = log_softmax(%s) {axis = -1}
)"),
                    DType::bf16),
            -half_of_bf16);
}

TEST(BoundMasks, WhatAlsoCountsElsewhereStays) {
  const auto stays = [](std::string_view nodes) {
    EXPECT_EQ(bounded(network(nodes), DType::f16), lowest) << nodes;
  };
  stays("  %y = mul(%o, %c)\n");                                 // a result
  stays("  %p = mul(%o, %c)\n  %y = reduce_sum(%p)\n");          // not a softmax
  stays("  %p = mul(%x, %c)\n  %y = softmax(%p) {axis = -1}\n"); // a factor that may be 1e-38
  stays("  %p = mul(%o, %c)\n  %s = softmax(%p) {axis = -1}\n  %y = add(%s, %p)\n"); // and read again
}

TEST(BoundMasks, SmallAndInfiniteValuesStay) {
  for (const std::string_view value : {"-30000.0", "-inf"}) {
    const auto graph = parsed(network("  %s = add(%x, %c)\n  %y = softmax(%s) {axis = -1}\n", value));
    EXPECT_FALSE(passes::bound_masks(*graph, DType::f16)) << value;
  }
}

} // namespace
} // namespace lanner::test
