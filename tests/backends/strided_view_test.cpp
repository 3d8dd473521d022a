#include "backends/strided_view.h"

#include <gtest/gtest.h>

#include "graph/parsed.h"

namespace lanner {
namespace {

/// The views along a chain of nodes, from a row-major input to the last node's result.
std::optional<StridedView> view_of(const Graph& graph) {
  std::optional<StridedView> view;
  for (const auto& node : graph.body().nodes()) {
    if (node->kind() == "constant") continue;
    if (!view) view = StridedView::dense(node->input(0)->type.shape());
    view = view->through(Group::of(*node).ops().front());
    if (!view) return std::nullopt;
  }
  return view;
}

std::optional<StridedView> view_of(const std::string& input, const std::string& nodes) {
  return view_of(*test::parsed("graph @g(%x: f32" + input + ") -> (%y) {\n" + nodes + "}\n"));
}

using Dims = std::vector<StridedDim>;

TEST(StridedView, DenseTensorHasRowMajorStridesAndNoFactorForDimsOfOne) {
  EXPECT_EQ(StridedView::dense({2, 1, 3}).dims(), (Dims{{{2, 3}}, {}, {{3, 1}}}));
}

TEST(StridedView, HeadsOfAPackedProjectionAreStridesIntoIt) {
  const auto view = view_of("[2, 5, 24]", "%a = constant() {value = i64[5](2, 5, 3, 2, 4)}\n"
                                          "%r = reshape(%x, %a)\n"
                                          "%t = transpose(%r) {perm = [2, 0, 3, 1, 4]}\n"
                                          "%b = constant() {value = i64[1](1)}\n"
                                          "%e = constant() {value = i64[1](2)}\n"
                                          "%z = constant() {value = i64[1](0)}\n"
                                          "%s = slice(%t, %b, %e, %z)\n"
                                          "%c = constant() {value = i64[3](4, 5, 4)}\n"
                                          "%y = reshape(%s, %c)\n");
  ASSERT_TRUE(view);
  EXPECT_EQ(view->offset(), 8);
  EXPECT_EQ(view->dims(), (Dims{{{2, 120}, {2, 4}}, {{5, 24}}, {{4, 1}}}));
  EXPECT_EQ(view->shape(), Shape({4, 5, 4}));
}

TEST(StridedView, WindowsOfAnImageAreDimsOfTwoFactors) {
  const auto view = view_of("[1, 4, 6, 8]", "%a = constant() {value = i64[6](1, 2, 2, 3, 2, 8)}\n"
                                            "%r = reshape(%x, %a)\n"
                                            "%t = transpose(%r) {perm = [0, 1, 3, 2, 4, 5]}\n"
                                            "%c = constant() {value = i64[3](6, 4, 8)}\n"
                                            "%y = reshape(%t, %c)\n");
  ASSERT_TRUE(view);
  EXPECT_EQ(view->dims(), (Dims{{{2, 96}, {3, 16}}, {{2, 48}, {2, 8}}, {{8, 1}}}));
  EXPECT_EQ(offset_text(view->dims()[0], "i"), "index_t(i / 3u) * 96ll + index_t((i) % 3u) * 16ll");
}

TEST(StridedView, BroadcastDimsHaveStrideZero) {
  const auto view = view_of("[3, 1]", "%a = constant() {value = i64[3](2, 3, 4)}\n%y = expand(%x, %a)\n");
  ASSERT_TRUE(view);
  EXPECT_EQ(view->dims(), (Dims{{{2, 0}}, {{3, 1}}, {{4, 0}}}));
  EXPECT_EQ(offset_text(view->dims()[0], "i"), "0");
}

TEST(StridedView, ReshapeThatDividesAFactorUnevenlyIsNone) {
  EXPECT_FALSE(view_of("[4, 6]", "%t = transpose(%x) {perm = [1, 0]}\n"
                                 "%c = constant() {value = i64[2](8, 3)}\n%y = reshape(%t, %c)\n"));
}

TEST(StridedView, BeforeGivesTheViewOfTheOperand) {
  const auto graph = test::parsed("graph @g(%x: f32[2, 3, 4, 5]) -> (%y) {\n"
                                  "%t = transpose(%x) {perm = [0, 2, 1, 3]}\n"
                                  "%c = constant() {value = i64[3](2, 4, 15)}\n%y = reshape(%t, %c)\n}\n");
  std::optional<StridedView> view = StridedView::dense({2, 4, 15});
  const auto& nodes = graph->body().nodes();
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node)
    if ((*node)->kind() != "constant") view = view->before(Group::of(**node).ops().front());
  ASSERT_TRUE(view);
  EXPECT_EQ(view->dims(), (Dims{{{2, 60}}, {{3, 5}}, {{4, 15}}, {{5, 1}}}));
}

} // namespace
} // namespace lanner
