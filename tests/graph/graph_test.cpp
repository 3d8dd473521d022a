#include <gtest/gtest.h>

#include "expect_error.h"
#include "graph/graph.h"
#include "graph/test_ops.h"
#include "graph/text/text.h"
#include "graph/verifier.h"

namespace lanner {

using test::graph_test_ops;

static const Type row(DType::f32, Dims{Dim(4)});

static Value* plus(Graph& graph, Value* a, Value* b, Node* before = nullptr) {
  return graph.emit("plus", std::vector<Value*>{a, b}, {}, row, "sum", before);
}

TEST(Graph, KeepsUsesOnBothSides) {
  Graph graph(graph_test_ops());
  Value* x = graph.add_input("x", row);
  Value* y = graph.add_input("y", row);
  Value* sum = plus(graph, x, x);
  graph.add_output("out", sum);
  EXPECT_EQ(x->uses().size(), 2u);
  x->replace_all_uses(y);
  EXPECT_TRUE(x->unused());
  EXPECT_EQ(sum->producer()->input(1), y);
  sum->producer()->set_input(0, x);
  EXPECT_EQ(x->uses().size(), 1u);
  verify(graph);
  LANNER_EXPECT_ERROR(graph.body().erase(sum->producer()), ErrorCode::internal, "%sum is still used");
}

TEST(Graph, NamesStayUnique) {
  Graph graph(graph_test_ops());
  Value* x = graph.add_input("x", row);
  EXPECT_EQ(plus(graph, x, x)->name(), "sum");
  Value* second = plus(graph, x, x);
  EXPECT_NE(second->name(), "sum");
  EXPECT_EQ(graph.find(second->name()), second);
  graph.rename(second, "total");
  EXPECT_EQ(graph.find("total"), second);
  graph.body().erase(second->producer());
  EXPECT_EQ(graph.find("total"), nullptr);
  EXPECT_EQ(graph.unique_name("total"), "total");
}

TEST(Graph, InputsMoveUpAndCapturesStayLast) {
  Graph graph(graph_test_ops());
  Value* x = graph.add_input("x", row);
  Value* y = graph.add_input("y", row);
  Node* node = graph.body().create(graph_test_ops().get("repeat"), std::vector<Value*>{x});
  node->add_output("out", row);
  node->add_capture(y);
  Region& region = node->add_region();
  ASSERT_EQ(region.parameters().size(), 1u);
  region.add_parameter("own", row);
  EXPECT_EQ(region.parameter(0)->name(), "own");
  node->add_input(y);
  EXPECT_EQ(node->own_inputs().size(), 2u);
  EXPECT_EQ(node->input(1), y);
  EXPECT_EQ(node->input(2), y);
  region.add_output(region.parameter(0));
  verify(graph);
  LANNER_EXPECT_ERROR(region.remove_parameter(1), ErrorCode::internal, "no parameter 1 of its own");
  node->remove_capture(0);
  EXPECT_EQ(region.parameters().size(), 1u);
  node->remove_input(0);
  EXPECT_EQ(node->input(0), y);
  EXPECT_TRUE(x->unused());
  verify(graph);
}

TEST(Graph, CloneSharesConstantsAndReplacesSymbols) {
  const auto graph = parse_graph(R"(graph @g(%x: f32[N]) -> (%z) {
  symbol N in [1, 9]
  meta "task" = "test"
  %c: f32[1] = constant() {value = f32[1](2.0)}
  %n: i64[1] = constant() {value = i64[1](2)}
  %y: f32[N] @ in=%z+0 = plus(%x, %c) source("first")
  %z: f32[N] = repeat(%n, %y; %c) ((%v: f32[N], %a: f32[1]) -> (%w) {
    %w: f32[N] = plus(%v, %a)
  })
})",
                                 graph_test_ops());
  const auto same = graph->clone();
  EXPECT_EQ(print(*same), print(*graph));
  EXPECT_EQ(same->find("c")->constant()->data(), graph->find("c")->constant()->data());
  EXPECT_EQ(same->find("y")->storage.parent, same->find("z"));
  const auto bound = graph->clone({{"N", 3}});
  verify(*bound);
  EXPECT_TRUE(bound->symbols.empty());
  EXPECT_EQ(bound->find("w")->type, Type(DType::f32, Shape{3}));
}

TEST(Graph, MovesNodes) {
  Graph graph(graph_test_ops());
  Value* x = graph.add_input("x", row);
  Node* first = plus(graph, x, x)->producer();
  Node* second = plus(graph, x, x)->producer();
  graph.body().move_before(second, first);
  EXPECT_EQ(graph.body().next(second), first);
  EXPECT_EQ(graph.body().previous(second), nullptr);
  graph.body().move_before(second, nullptr);
  EXPECT_EQ(graph.body().next(second), nullptr);
  verify(graph);
}

TEST(Graph, ManyUsesOfAConstantAreRemovedQuickly) {
  Graph graph(graph_test_ops());
  Value* shared = graph.constant(Tensor::zeros(DType::f32, {4}));
  std::vector<Node*> nodes;
  for (int i = 0; i < 100000; ++i) nodes.push_back(plus(graph, shared, shared)->producer());
  EXPECT_EQ(shared->uses().size(), 200000u);
  verify(graph);
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) graph.body().erase(*node);
  EXPECT_TRUE(shared->unused());
  EXPECT_EQ(graph.node_count(), 1u);
}

TEST(OpTable, SuggestsNearNames) {
  LANNER_EXPECT_ERROR(graph_test_ops().get("pluss"), ErrorCode::unsupported, "did you mean plus?");
  OpTable table = graph_test_ops();
  LANNER_EXPECT_ERROR(table.add(*graph_test_ops().find("plus")), ErrorCode::invalid_argument,
                      "plus is already defined");
}

TEST(AttributeMap, ErrorsNameTheAttribute) {
  AttributeMap attributes;
  attributes.set("axis", std::int64_t{3});
  EXPECT_EQ(attributes.integer("axis", 0), 3);
  EXPECT_EQ(attributes.real("alpha", 0.5), 0.5);
  LANNER_EXPECT_ERROR(attributes.string("axis", ""), ErrorCode::invalid_argument,
                      "attribute axis: expected string, got integer");
  LANNER_EXPECT_ERROR(attributes.get<double>("alpha"), ErrorCode::invalid_argument,
                      "attribute alpha is missing");
}

} // namespace lanner
