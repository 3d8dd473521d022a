// Names that a subgraph shares with the graphs around it.

#include <gtest/gtest.h>

#include "expect_error.h"
#include "importers/importing.h"
#include "importers/onnx_file.h"
#include "ops/node_run.h"

namespace lanner::test {
namespace {

using namespace onnx_file;

Message branch(std::vector<Message> nodes, const std::string& output) {
  return graph({.nodes = std::move(nodes), .inputs = {}, .outputs = {value(output, f32, {})}});
}

Message if_node(const std::string& output, const Message& body) {
  return node(
      {"If", {"c"}, {output}, {graph_attribute("then_branch", body), graph_attribute("else_branch", body)}});
}

std::string file_of(std::vector<Message> nodes) {
  return model(graph({.nodes = std::move(nodes),
                      .inputs = {value("x", f32, {"1"}), value("c", boolean, {})},
                      .outputs = {value("y", f32, {"1"})}}));
}

std::string run(std::vector<Message> nodes, float x) {
  return result(file_of(std::move(nodes)), {f32s({x}), bools({1}, {})});
}

TEST(Scopes, NameMeansTheOuterValueUntilTheSubgraphWritesIt) {
  const Message body = branch(
      {node({"Add", {"v", "x"}, {"w"}}), node({"Neg", {"w"}, {"v"}}), node({"Mul", {"v", "w"}, {"r"}})}, "r");
  // v = x * x = 4, w = 6, the branch's v = -6, r = -36.
  EXPECT_EQ(run({node({"Mul", {"x", "x"}, {"v"}}), if_node("y", body)}, 2), "f32[1](-36)");
}

TEST(Scopes, OuterValueIsReadBeforeItIsShadowed) {
  // The outer v comes after its reader in the file: nodes are ordered by their reads.
  const Message body = branch(
      {node({"Neg", {"v"}, {"w"}}), node({"Exp", {"w"}, {"v"}}), node({"Identity", {"w"}, {"r"}})}, "r");
  EXPECT_EQ(run({node({"Mul", {"x", "x"}, {"v"}}), if_node("y", body)}, 2), "f32[1](-4)");
}

TEST(Scopes, AGraphWithinReadsPastTheShadow) {
  const Message inner = branch({node({"Neg", {"v"}, {"u"}})}, "u");
  const Message body = branch({if_node("p", inner), node({"Add", {"p", "p"}, {"v"}}), if_node("q", inner),
                               node({"Sub", {"q", "p"}, {"r"}})},
                              "r");
  // p = -4, the branch's v = -8, q = 8, r = 12.
  EXPECT_EQ(run({node({"Mul", {"x", "x"}, {"v"}}), if_node("y", body)}, 2), "f32[1](12)");
}

TEST(Scopes, SubgraphReadsTheOuterValueOfANameThatItsNodeWrites) {
  const Message inner = branch({node({"Neg", {"z"}, {"u"}})}, "u");
  const Message body = branch({if_node("z", inner), node({"Identity", {"z"}, {"r"}})}, "r");
  EXPECT_EQ(run({node({"Mul", {"x", "x"}, {"z"}}), if_node("y", body)}, 2), "f32[1](-4)");
}

/// A loop that sums rows of a table per bag, with inner names equal to outer ones.
TEST(Scopes, EmbeddingBagLoopMayReuseOuterNames) {
  const Message empty = branch({node({"Mul", {"row", "zero"}, {"total"}})}, "total");
  const Message sum =
      branch({node({"Add", {"row", "total"}, {"row"}}), node({"Identity", {"row"}, {"total"}})}, "total");
  const Message body =
      graph({.nodes = {node({"Gather", {"table", "start"}, {"row"}}),
                       node({"Equal", {"start", "last"}, {"at_end"}}),
                       node({"If",
                             {"at_end"},
                             {"next"},
                             {graph_attribute("then_branch", empty), graph_attribute("else_branch", sum)}}),
                       node({"Add", {"i", "start"}, {"start"}}), node({"Identity", {"cond"}, {"again"}}),
                       node({"Cast", {"start"}, {"shift"}, {attribute("to", f32)}}),
                       node({"Add", {"next", "shift"}, {"out"}})},
             .inputs = {value("i", i64, {}), value("cond", boolean, {}), value("total", f32, {"1"})},
             .outputs = {value("again", boolean, {}), value("out", f32, {"1"})}});
  const Message g = graph(
      {.nodes = {node({"Loop", {"turns", "c", "x"}, {"y"}, {graph_attribute("body", body)}})},
       .inputs = {value("x", f32, {"1"}), value("c", boolean, {})},
       .outputs = {value("y", f32, {"1"})},
       .constants = {floats("table", {3, 1}, {10, 20, 30}), floats("zero", {1}, {0}),
                     integers("start", {}, {1}), integers("last", {}, {2}), integers("turns", {}, {2})}});
  // Each iteration adds row 1 (20) and the iteration number plus 1: 5 + 20 + 1, then 26 + 20 + 2.
  EXPECT_EQ(result(model(g), {f32s({5}), bools({1}, {})}), "f32[1](48)");
}

TEST(Scopes, CyclesAndSecondWritesAreStillRefused) {
  LANNER_EXPECT_ERROR(imported(file_of({node({"Neg", {"y"}, {"y"}})})), ErrorCode::bad_data,
                      "the graph has a cycle");
  const Message body = branch({node({"Neg", {"y"}, {"r"}})}, "r");
  LANNER_EXPECT_ERROR(imported(file_of({if_node("y", body)})), ErrorCode::bad_data, "the graph has a cycle");
  LANNER_EXPECT_ERROR(imported(file_of({node({"Neg", {"x"}, {"x"}}), node({"Neg", {"x"}, {"y"}})})),
                      ErrorCode::bad_data, "value 'x' is written twice");
  const Message twice =
      branch({node({"Neg", {"v"}, {"v"}, {}, {}, "a"}), node({"Exp", {"x"}, {"v"}, {}, {}, "b"})}, "v");
  LANNER_EXPECT_ERROR(imported(file_of({node({"Mul", {"x", "x"}, {"v"}}), if_node("y", twice)})),
                      ErrorCode::bad_data, "value 'v' is written twice");
}

} // namespace
} // namespace lanner::test
