#include <gtest/gtest.h>

#include "expect_error.h"
#include "graph/infer.h"
#include "graph/test_ops.h"
#include "graph/text/text.h"

namespace lanner {

using test::graph_test_ops;

static std::unique_ptr<Graph> parse(std::string_view text) {
  return parse_graph(text, graph_test_ops());
}
static std::string type(const Graph& graph, std::string_view name) {
  return graph.find(name)->type.to_string();
}

TEST(Infer, SizesFlowThroughArithmetic) {
  const auto graph = parse(R"(graph @g(%x: f32[N, 3]) -> (%y) {
    symbol N in [1, 9]
    %s = sizes(%x)
    %one = constant() {value = i64[2](1, -1)}
    %t = plus(%s, %one)
    %y = fill(%t)
  })");
  EXPECT_EQ(type(*graph, "y"), "f32[N + 1, 2]");
  const KnownValues known(*graph);
  EXPECT_EQ(to_string(*known.of(graph->find("t")).elements), "[N + 1, 2]");
  EXPECT_FALSE(known.of(graph->find("t")).tensor);
  EXPECT_FALSE(known.of(graph->find("y")).elements);
  const auto fixed = graph->clone({{"N", 4}});
  infer_types(*fixed);
  const KnownValues sizes(*fixed);
  ASSERT_TRUE(sizes.of(fixed->find("t")).tensor);
  EXPECT_EQ(sizes.of(fixed->find("t")).tensor->as<std::int64_t>()[0], 5);
}

TEST(Infer, FreshSymbolsAreBoundedAndStay) {
  const auto graph = parse(R"(graph @g(%x: f32[N, 3]) -> (%y) {
    symbol N in [1, 9]
    %y = nonzero(%x)
    %z = nonzero(%x)
  })");
  const std::string first = type(*graph, "y");
  EXPECT_NE(first, type(*graph, "z"));
  const auto symbol = *graph->find("y")->type.dims()[0].as_symbol();
  EXPECT_EQ(graph->symbols.at(symbol).max, 27);
  const std::string before = print(*graph);
  infer_types(*graph);
  EXPECT_EQ(print(*graph), before);
}

TEST(Infer, ExactPartsOfDeclaredTypesAreKept) {
  const auto graph = parse(R"(graph @g(%x: f32[N, 3]) -> (%y) {
    symbol N in [1, 9]
    %s: i64[2] = sizes(%x)
    %n: i64[7] = nonzero(%x)
    %y: f32[4, 3] = positive(%x)
    %u: f32[*] = positive(%x)
  })");
  infer_types(*graph);
  EXPECT_EQ(type(*graph, "n"), "i64[7]");
  EXPECT_EQ(type(*graph, "y"), "f32[4, 3]");
  EXPECT_EQ(type(*graph, "u"), "f32[N, 3]");
  EXPECT_EQ(graph->symbols.size(), 1u);
}

TEST(Infer, ContradictionsNameTheNode) {
  const auto text = [](std::string_view declared) {
    return fmt::format(
        "graph @g(%x: f32[N, 3]) -> (%y) {{ symbol N in [1, 9]\n %y: {} = positive(%x) source(\"conv_7\") }}",
        declared);
  };
  for (const char* declared : {"f32[N, 4]", "i64[N, 3]", "f32[N]", "f32[10, 3]", "seq(f32[N, 3])"}) {
    const auto graph = parse(text(declared));
    LANNER_EXPECT_ERROR(infer_types(*graph), ErrorCode::invalid_argument,
                        "node conv_7: the value is declared");
  }
}

TEST(Infer, RegionsSeeCapturesAndWiden) {
  const auto graph = parse(R"(graph @g(%x: f32[2], %n: i64[]) -> (%y) {
    %y = repeat(%n, %x; %x) ((%v, %c) -> (%w) {
      %w = join(%v, %c)
    })
  })");
  EXPECT_EQ(type(*graph, "y"), "f32[grown]");
  EXPECT_EQ(type(*graph, "w"), "f32[grown + 2]");
  EXPECT_EQ(type(*graph, "c"), "f32[2]");
}

TEST(Infer, OneNodeWithConcreteInputs) {
  const auto graph = parse(R"(graph @g(%x: f32[N, 3], %s: i64[2]) -> (%y, %z, %r) {
    symbol N in [1, 9]
    %y = fill(%s)
    %z = nonzero(%x)
    %r = positive(%x)
  })");
  const Item shape(Tensor::from<std::int64_t>(std::vector<std::int64_t>{5, 6}, {2}));
  const Item x(Tensor::zeros(DType::f32, {2, 3}));
  const auto infer = [&](std::string_view name, const Item& item) {
    const Item* items[] = {&item};
    return infer_node(*graph->find(name)->producer(), items)[0];
  };
  EXPECT_EQ(infer("y", shape).to_string(), "f32[5, 6]");
  EXPECT_EQ(infer("r", x).to_string(), "f32[2, 3]");
  EXPECT_FALSE(infer("z", x).is_static());
  EXPECT_EQ(graph->symbols.size(), 2u);
}

} // namespace lanner
