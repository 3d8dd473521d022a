// Malicious models from file to run: an Error of one line or the right answer, never an invalid memory
// access.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <lanner/engine.h>

#include "backends/backends.h"
#include "engine/small_models.h"
#include "expect_error.h"
#include "graph/infer.h"
#include "graph/parsed.h"
#include "graph/text/text.h"
#include "ops/interpreter/interpreter.h"
#include "ops/table/table.h"
#include "run/step_count.h"

namespace lanner {
namespace {

using namespace test::onnx_file;

using test::ramp;

Engine built(const std::string& bytes) {
  return test::built(bytes, test::plain_options());
}

Tensor list(const std::vector<std::int64_t>& values) {
  return Tensor::from<std::int64_t>(values, {static_cast<std::int64_t>(values.size())});
}

/// `x` of 2 x 3 x 4 through one transpose.
std::string transposing(const std::vector<std::int64_t>& perm, const std::vector<std::string>& y) {
  return model(graph({.nodes = {node({"Transpose", {"x"}, {"y"}, {attribute("perm", perm)}})},
                      .inputs = {value("x", f32, {"2", "3", "4"})},
                      .outputs = {value("y", f32, y)}}));
}

TEST(HostileEngine, TransposeByANonPermutationIsRejected) {
  for (const std::vector<std::int64_t>& perm :
       {std::vector<std::int64_t>{0, -1, 1}, {-1, -2, -3}, {0, 1, 1}, {0, 1, 3}, {0, 1, INT64_MAX}})
    for (const std::vector<std::string>& y : {std::vector<std::string>{"?", "?", "?"}, {"2", "4", "3"}})
      LANNER_EXPECT_ERROR(built(transposing(perm, y)), ErrorCode::invalid_argument,
                          "expected each axis from 0 to 2 once");
  LANNER_EXPECT_ERROR(built(transposing({1, 0}, {"?", "?", "?"})), ErrorCode::invalid_argument,
                      "perm has 2 axes for rank 3");
}

/// An operator on `x` of 3 x 4 and a data-dependent list `n`, with results declared with fixed sizes, as the
/// text of a plan may do.
std::unique_ptr<Graph> declared(const std::string& node, std::int64_t length) {
  return parse_graph(fmt::format("graph @g(%x: f32[3, 4], %n: i64[{}]) -> (%y) {{\n"
                                 "  %from = constant() {{value = i64[2](0, 0)}}\n  {}\n}}",
                                 length, node),
                     builtin_op_table());
}

const Node& last_node(const Graph& graph) {
  return *graph.body().nodes().back();
}

Tensor answer(const Graph& graph, const std::vector<std::int64_t>& n) {
  const std::vector<Item> inputs{ramp({3, 4}), list(n)};
  return run_reference(graph, inputs).front().tensor;
}

struct Declaration {
  std::string node;
  std::vector<std::int64_t> right, wrong;
};

TEST(HostileEngine, WronglyDeclaredDataDependentSizesAreRejected) {
  for (const auto& [node, right, wrong] :
       std::vector<Declaration>{{"%y: f32[64, 3, 4] = expand(%x, %n)", {64, 3, 4}, {2, 3, 4}},
                                {"%y: f32[6, 4] = tile(%x, %n)", {2, 1}, {1, 1}},
                                {"%y: f32[2, 4] = slice(%x, %from, %n)", {2, 4}, {3, 4}},
                                {"%y: f32[5, 4] = pad(%x, %n)", {1, 0, 1, 0}, {0, 0, 1, 0}},
                                {"%y: f32[1, 4], %z: f32[2, 4] = split(%x, %n)", {1, 2}, {2, 1}},
                                {"%y: f32[1, 4] = reduce_sum(%x, %n)", {0}, {1}},
                                {"%y: f32[6, 8] = resize(%x, _, _, %n)", {6, 8}, {3, 8}}}) {
    SCOPED_TRACE(node);
    const auto graph = declared(node, static_cast<std::int64_t>(right.size()));
    infer_types(*graph);
    for (const Backend* backend : backends_for({}))
      EXPECT_TRUE(backend->tactics(last_node(*graph), {}).tactics.empty()) << backend->name();
    EXPECT_EQ(answer(*graph, right).shape(), last_node(*graph).output()->type.shape());
    LANNER_EXPECT_ERROR(answer(*graph, wrong), ErrorCode::invalid_argument, "is declared f32");
  }
}

/// A list of more axes than the rank is rejected by inference; one too long for inference gets no kernel.
TEST(HostileEngine, PadOfTooManyAxesIsRejected) {
  std::string sizes, zeros;
  for (int i = 0; i < 33; ++i) sizes += i == 0 ? "1" : ", 1";
  for (int i = 0; i < 66; ++i) zeros += i == 0 ? "0" : i == 32 ? ", 100" : ", 0";
  const auto graph = test::parsed(fmt::format("graph @g(%x: f32[{}]) -> (%y) {{\n"
                                              "  %p = constant() {{value = i64[66]({})}}\n"
                                              "  %y: f32[{}] = pad(%x, %p)\n}}",
                                              sizes, zeros, sizes));
  for (const Backend* backend : backends_for({}))
    EXPECT_TRUE(backend->tactics(last_node(*graph), {}).tactics.empty()) << backend->name();
}

TEST(HostileEngine, ReshapeToMoreElementsIsRejected) {
  const auto program = [](const char* shape) {
    auto graph = declared(fmt::format("%r: f32[{}] = reshape(%x, %n) tactic(\"alias\", \"alias\", _, 0.0)\n"
                                      "  %y: f32[{}] = relu(%r) tactic(\"reference\", \"reference\", _, 0.0)",
                                      shape, shape),
                          2);
    infer_types(*graph);
    return test::step_count(std::move(graph));
  };
  EXPECT_EQ(program("6, 2"), 1U);
  LANNER_EXPECT_ERROR(program("12, 12"), ErrorCode::bad_data,
                      "[12, 12] is declared to hold the elements of [3, 4]");
}

/// Seventeen values of 2^60 bytes at once, whose sum is 2^60 again in 64 bits.
TEST(HostileEngine, MemoryBeyondTheAddressSpaceIsRejected) {
  std::vector<Message> nodes, inputs;
  for (int i = 0; i < 17; ++i) {
    inputs.push_back(value(fmt::format("x{}", i), f32, {"1"}));
    nodes.push_back(node({"Expand", {fmt::format("x{}", i), "n"}, {fmt::format("e{}", i)}}));
  }
  for (int i = 1; i < 17; ++i)
    nodes.push_back(node({"Add",
                          {i == 1 ? "e0" : fmt::format("s{}", i - 1), fmt::format("e{}", i)},
                          {fmt::format("s{}", i)}}));
  nodes.push_back(node({"ReduceMax", {"s16"}, {"y"}}));
  const std::string file = model(graph({.nodes = nodes,
                                        .inputs = inputs,
                                        .outputs = {value("y", f32, {"1"})},
                                        .constants = {integers("n", {1}, {std::int64_t{1} << 58})}}));
  LANNER_EXPECT_ERROR(built(file), ErrorCode::limit_exceeded, "over the limit");
}

} // namespace
} // namespace lanner
