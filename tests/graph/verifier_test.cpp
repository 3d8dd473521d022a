#include <gtest/gtest.h>

#include "expect_error.h"
#include "graph/graph.h"
#include "graph/test_ops.h"
#include "graph/verifier.h"

namespace lanner {

using test::graph_test_ops;

static const Type row(DType::f32, Dims{Dim(4)});

static Node* add(Graph& graph, std::string_view op, std::vector<Value*> inputs) {
  Node* node = graph.body().create(graph_test_ops().get(op), inputs);
  node->add_output("out", row);
  return node;
}

static void expect_refused(const Graph& graph, const char* rule) {
  LANNER_EXPECT_ERROR(verify(graph), ErrorCode::internal, rule);
}

TEST(Verifier, ValuesAreDefinedBeforeUse) {
  Graph graph(graph_test_ops());
  Value* x = graph.add_input("x", row);
  Node* first = add(graph, "positive", {x});
  Node* second = add(graph, "positive", {first->output()});
  second->sources = {"relu_2"};
  verify(graph);
  graph.body().move_before(second, first);
  expect_refused(graph, "node relu_2: input 0 is not defined before it is used");
}

TEST(Verifier, OuterValuesNeedCaptures) {
  Graph graph(graph_test_ops());
  Value* x = graph.add_input("x", row);
  Node* node = add(graph, "fused", {});
  node->attributes.set("kind", std::string("test"));
  node->add_region().add_output(x);
  expect_refused(graph, "%x of another region is used without a capture");
}

TEST(Verifier, CapturesMatchParameters) {
  Graph graph(graph_test_ops());
  Node* node = add(graph, "fused", {});
  node->attributes.set("kind", std::string("test"));
  node->add_capture(graph.add_input("x", row));
  Region& region = node->add_region();
  region.add_output(region.parameter(0));
  verify(graph);
  region.parameter(0)->type = Type(DType::i64, Dims{Dim(4)});
  expect_refused(graph, "capture 0 of type f32[4] is a parameter of type i64[4]");
}

TEST(Verifier, AttributesFitTheOperator) {
  Graph graph(graph_test_ops());
  Node* node = add(graph, "settings", {});
  node->attributes.set("real", std::int64_t{1});
  expect_refused(graph, "attribute real: expected real, got integer");
}

TEST(Verifier, SymbolsAreDeclared) {
  Graph graph(graph_test_ops());
  graph.add_input("x", Type(DType::f32, Dims{Dim::symbol("N") + 1}));
  expect_refused(graph, "%x: symbol N is not declared");
  graph.symbols["N"] = {4, 2, -1};
  expect_refused(graph, "symbol N: its range is empty");
}

TEST(Verifier, ChildOutsideItsParentIsRefused) {
  Graph graph(graph_test_ops());
  Value* x = graph.add_input("x", row);
  Node* node = add(graph, "positive", {x});
  node->output()->storage.parent = x;
  verify(graph);
  node->output()->storage.offset = 4;
  expect_refused(graph, "%out ends 20 bytes into %x, which has 16");
  node->output()->storage = {};
  node->output()->storage.offset = 4;
  expect_refused(graph, "%out has an offset but no parent");
}

TEST(Verifier, OutputsHaveNames) {
  Graph graph(graph_test_ops());
  graph.body().add_output(graph.add_input("x", row));
  expect_refused(graph, "graph has 1 outputs but 0 names");
}

TEST(Verifier, OperatorOfAnotherTableIsRefused) {
  const OpTable copy = [] {
    OpTable table;
    table.add(*graph_test_ops().find("positive"));
    return table;
  }();
  Graph graph(graph_test_ops());
  Value* x = graph.add_input("x", row);
  graph.body().create(copy.get("positive"), std::vector<Value*>{x})->add_output("y", row);
  expect_refused(graph, "operator positive is not from the graph's table");
}

} // namespace lanner
