// Proposed groups; fuse.ir and lower_groups.ir show which are chosen.

#include "lower/propose/groups.h"

#include <array>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/parsed.h"
#include "graph/text/text.h"
#include "lowering/table_backend.h"

namespace lanner {
namespace {

using Texts = std::vector<std::string>;

/// Names of each group's values; groups of the first cover end in `*`.
Texts proposed(const std::string& text, const std::string& rules) {
  const auto graph = test::parsed(text);
  const test::TableBackend backend("fast", rules);
  const std::array<const Backend*, 1> backends{&backend};
  Texts texts;
  for (const ProposedGroup& group : proposed_groups(*graph, backends, {})) {
    std::string names;
    for (const Node* node : group.nodes) names += (names.empty() ? "" : " ") + node->output()->name();
    texts.push_back(names + (group.in_first_cover ? "*" : ""));
  }
  return texts;
}

TEST(Groups, AreAnAnchorWithEachPrefixOfItsEpilogue) {
  EXPECT_EQ(proposed("graph @g(%x: f32[2, 3], %o: f32[2, 3]) -> (%y) {\n"
                     "  %s = softmax(%x)\n  %r = relu(%s)\n  %a = add(%r, %o)\n  %y = exp(%a)\n}\n",
                     "// fuses softmax+relu\n// fuses softmax+relu+add\n"),
            (Texts{"s r a*", "s r"}));
}

TEST(Groups, TwoAnchorsAreBothProposedWithTheNodeBetween) {
  EXPECT_EQ(proposed("graph @g(%x: f32[2, 3]) -> (%y) {\n"
                     "  %s = softmax(%x)\n  %t = softmax(%x)\n  %a = add(%s, %t)\n  %y = exp(%a)\n}\n",
                     "// fuses softmax+add\n"),
            (Texts{"s a*", "t a"}));
}

TEST(Groups, CoverElementwiseNodesLeftOverByAnchors) {
  EXPECT_EQ(
      proposed("graph @g(%x: f32[2, 3]) -> (%y) {\n"
               "  %s = softmax(%x)\n  %r = relu(%s)\n  %e = exp(%r)\n  %n = neg(%e)\n  %y = abs(%n)\n}\n",
               "// fuses softmax+relu\n// fuses softmax+relu+exp\n// fuses relu+exp\n// fuses exp+neg\n"
               "// fuses neg+abs\n"),
      (Texts{"s r e*", "s r", "n y*", "e n y", "r e n y"}));
}

TEST(Groups, ValuesReadLaterByOthersAreOutputs) {
  EXPECT_EQ(proposed("graph @g(%x: f32[2, 3]) -> (%y, %z) {\n"
                     "  %a = relu(%x)\n  %b = exp(%a)\n  %y = neg(%b)\n  %z = softmax(%b)\n}\n",
                     "// fuses relu+exp\n// fuses exp+neg\n"),
            (Texts{"a b*", "a b y"}));
}

TEST(Groups, ANodeIsInAtMostTwoGroupsWithSharedValues) {
  std::string text = "graph @g(%x: f32[2, 3]) -> (%y) {\n  %v0 = relu(%x)\n", last = "%v0";
  for (int i = 1; i <= 40; ++i) text += fmt::format("  %v{} = relu(%v{})\n", i, i - 1);
  for (int i = 0; i <= 40; ++i) {
    text += fmt::format("  %s{} = mul(%v{}, {})\n", i, i, last);
    last = fmt::format("%s{}", i);
  }
  std::map<std::string, int> shared;
  for (const std::string& names : proposed(text + "  %y = neg(" + last + ")\n}\n", "// fuses relu+relu\n")) {
    if (names.ends_with('*')) continue;
    for (int i = 0; i <= 40; ++i)
      if ((" " + names + " ").find(fmt::format(" v{} ", i)) != std::string::npos)
        ++shared[fmt::format("v{}", i)];
  }
  EXPECT_FALSE(shared.empty());
  for (const auto& [name, groups] : shared) EXPECT_LE(groups, 2) << name;
}

TEST(Groups, EndBeforeANodeWhoseValueIsReadTooEarly) {
  const std::string before = "graph @g(%x: f32[2, 3]) -> (%y, %z) {\n"
                             "  %a = relu(%x)\n  %b = exp(%a)\n  %z = softmax(%b)\n  %y = neg(%b)\n}\n";
  const std::string rules = "// fuses relu+exp\n// fuses exp+neg\n";
  EXPECT_EQ(proposed(before, rules), (Texts{"a b*"}));
  EXPECT_EQ(proposed(before, rules + "// proposes y, b\n"), (Texts{"a b*"}));
}

TEST(Groups, ProposedByBackendsNeedOneRegionAndStaticSizes) {
  const std::string text =
      "graph @g(%x: f32[2, 3], %v: f32[N]) -> (%y, %w) {\n  symbol N in [1, 4]\n"
      "  %a = softmax(%x)\n  %y = softmax(%a)\n  %u = softmax(%v)\n  %w = softmax(%u)\n}\n";
  EXPECT_EQ(proposed(text, "// proposes a, y\n// proposes u, w\n// proposes a\n"), (Texts{"a y"}));
}

TEST(Groups, AreExtractedToTheirOwnGraph) {
  const auto graph = test::parsed("graph @g(%x: f32[2, 3]) -> (%y) {\n"
                                  "  %c = constant() {value = f32[](2.0)}\n"
                                  "  %a = relu(%x) source(\"first\")\n  %y = mul(%a, %c)\n}\n");
  const test::TableBackend backend("fast", "// fuses relu+mul\n");
  const std::array<const Backend*, 1> backends{&backend};
  const auto groups = proposed_groups(*graph, backends, {});
  ASSERT_EQ(groups.size(), 1u);
  const auto own = alone(groups[0].nodes);
  EXPECT_EQ(
      print(*own),
      "graph @group(%x: f32[2, 3]) -> (%y_3: f32[2, 3] as \"y_3\") {\n"
      "  %c: f32[] = constant() {value = f32[](2.0)}\n"
      "  %y_3: f32[2, 3] = fused(%x, %c) {kind = \"relu+mul\"} ((%x_1: f32[2, 3], %c_2: f32[]) -> (%y) {\n"
      "    %a: f32[2, 3] = relu(%x_1) source(\"first\")\n"
      "    %y: f32[2, 3] = mul(%a, %c_2)\n"
      "  }) source(\"first\")\n}\n");
  EXPECT_EQ(graph->body().nodes().size(), 3u) << "the graph itself was changed";
}

} // namespace
} // namespace lanner
