#include <gtest/gtest.h>

#include "expect_error.h"
#include "graph/op.h"
#include "graph/test_ops.h"
#include "graph/text/text.h"
#include "graph/verifier.h"
#include "ops/definition/expansion.h"
#include "ops/interpreter/interpreter.h"

namespace lanner {

using test::graph_test_ops;

static Tensor floats(std::vector<float> values) {
  const auto size = static_cast<std::int64_t>(values.size());
  return Tensor::from<float>(values, {size});
}

static std::vector<float> run(std::string_view text, std::vector<Item> inputs) {
  const auto graph = parse_graph(text, graph_test_ops());
  const std::vector<Item> outputs = run_reference(*graph, inputs);
  const auto values = outputs.at(0).tensor.as<float>();
  return {values.begin(), values.end()};
}

TEST(Interpreter, RunsNodesInOrder) {
  const char* text = R"(graph @g(%x: f32[N]) -> (%z) {
    symbol N in [1, 9]
    %c = constant() {value = f32[1](1.0)}
    %y = plus(%x, %c)
    %z = plus(%y, %x)
    %unused = nonzero(%z)
  })";
  EXPECT_EQ(run(text, {floats({1, -2, 3})}), (std::vector<float>{3, -3, 7}));
}

TEST(Interpreter, RegionsGetTheirCaptures) {
  const char* text = R"(graph @g(%p: bool[], %x: f32[2], %n: i64[]) -> (%y) {
    %y = choose(%p; %x, %n) ((%a, %m) -> (%b) { %b = positive(%a) }, (%c, %k) -> (%d) {
      %d = repeat(%k, %c; %c) ((%e, %f) -> (%g) { %g = plus(%e, %f) })
    })
  })";
  const Item x(floats({-1, 2})), n(Tensor::scalar<std::int64_t>(3));
  EXPECT_EQ(run(text, {Tensor::scalar(true), x, n}), (std::vector<float>{0, 2}));
  EXPECT_EQ(run(text, {Tensor::scalar(false), x, n}), (std::vector<float>{-4, 8}));
}

TEST(Interpreter, DataDependentSizes) {
  const char* text = R"(graph @g(%x: f32[N], %n: i64[]) -> (%z) {
    symbol N in [1, 9]
    %found = nonzero(%x)
    %s = sizes(%found)
    %y = fill(%s) {value = 2.5}
    %z = repeat(%n, %y; %y) ((%v, %c) -> (%w) { %w = join(%v, %c) })
  })";
  EXPECT_EQ(run(text, {floats({0, 1, 0, 1}), Tensor::scalar<std::int64_t>(1)}),
            (std::vector<float>{2.5, 2.5, 2.5, 2.5}));
}

TEST(Interpreter, OperatorsWithoutKernelAreExpanded) {
  const char* text = R"(graph @g(%x: f32[N]) -> (%y) {
    symbol N in [1, 9]
    %a = fused(%x, %x) {kind = "plus+doubled"} ((%p, %q) -> (%r) {
      %s = plus(%p, %q)
      %r = doubled(%s)
    })
    %y = doubled(%a)
  })";
  EXPECT_EQ(run(text, {floats({1, 2})}), (std::vector<float>{8, 16}));
}

TEST(Interpreter, ReadsAnyHostLayout) {
  const auto graph =
      parse_graph("graph @g(%x: f32[1, 2, 1, 2]) -> (%y) { %y = reorder(%x) }", graph_test_ops());
  Tensor last = Tensor::zeros(DType::f32, {1, 2, 1, 2}, Layout::channels_last(4));
  copy_tensor(Tensor::from<float>(std::vector<float>{1, 2, 3, 4}, {1, 2, 1, 2}), last);
  const auto outputs = run_reference(*graph, std::vector<Item>{last});
  const auto values = outputs[0].tensor.as<float>();
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()), (std::vector<float>{1, 2, 3, 4}));
}

TEST(Interpreter, RefusesInputsThatDoNotFit) {
  const auto graph =
      parse_graph("graph @g(%x: f32[N], %y: f32[N, 2]) -> (%x) { symbol N in [1, 9] }", graph_test_ops());
  const Item x(floats({1, 2})), y(Tensor::zeros(DType::f32, {3, 2})),
      wrong(Tensor::zeros(DType::f32, {2, 3}));
  const auto attempt = [&](std::vector<Item> inputs) { run_reference(*graph, inputs); };
  LANNER_EXPECT_ERROR(attempt({x}), ErrorCode::invalid_argument, "has 2 inputs, 1 were given");
  LANNER_EXPECT_ERROR(attempt({x, y}), ErrorCode::invalid_argument, "N is 3 in dim 0 but 2 elsewhere");
  LANNER_EXPECT_ERROR(attempt({x, wrong}), ErrorCode::invalid_argument, "expected f32[N, 2], got f32[2, 3]");
  LANNER_EXPECT_ERROR(attempt({Tensor::zeros(DType::i64, {2}), y}), ErrorCode::invalid_argument,
                      "got i64[2]");
}

TEST(Interpreter, FailuresNameTheNode) {
  OpTable table = graph_test_ops();
  OpDef liar = *table.find("positive");
  liar.name = "liar";
  liar.reference = [](KernelContext& context) { context.allocate(0, DType::f32, {7}); };
  table.add(liar);
  liar.name = "nothing";
  liar.reference = nullptr;
  table.add(liar);
  const auto attempt = [&](std::string_view op) {
    const auto graph =
        parse_graph(fmt::format("graph @g(%x: f32[2]) -> (%y) {{ %y = {}(%x) source(\"n_1\") }}", op), table);
    run_reference(*graph, std::vector<Item>{floats({1, 2})});
  };
  LANNER_EXPECT_ERROR(attempt("liar"), ErrorCode::internal, "node n_1: %y: inferred f32[2], computed f32[7]");
  LANNER_EXPECT_ERROR(attempt("nothing"), ErrorCode::unsupported,
                      "node n_1: nothing has no reference kernel");
}

TEST(Expansion, NewNodesGetTheSources) {
  const auto graph = parse_graph(R"(graph @g(%x: f32[2]) -> (%y) {
    %z = positive(%x)
    %y = doubled(%z) source("d")
  })",
                                 graph_test_ops());
  expand_node(*graph->find("y")->producer());
  verify(*graph);
  ASSERT_EQ(graph->node_count(), 2u);
  const Node& node = *graph->body().nodes().back();
  EXPECT_EQ(node.kind(), "plus");
  EXPECT_EQ(node.sources, std::vector<std::string>{"d"});
  EXPECT_TRUE(graph->body().nodes().front()->sources.empty());
}

} // namespace lanner
