// Importing GraphDefs: structure, names, functions, text, and harmful files.

#include <random>

#include <gtest/gtest.h>

#include "importers/graph_def_file.h"
#include "importers/importing.h"
#include "ops/node_run.h"

namespace lanner::test {
namespace {

using namespace graph_def_file;

#define LANNER_EXPECT_OUTCOME(result, expected)                                                              \
  do {                                                                                                       \
    const std::string got = (result);                                                                        \
    EXPECT_NE(got.find(expected), std::string::npos) << got.substr(0, 500);                                  \
  } while (false)

TEST(TensorFlow, PlaceholdersAreInputsAndUnreadNodesOutputs) {
  const auto graph =
      imported(graph_def({placeholder("x", f32, {-1, 2}), placeholder("unread", f32, {3}),
                          floats("w", {2}, {1, 2}), node({"sum", "AddV2", {"x", "w"}}),
                          node({"out", "Relu", {"sum:0", "^w"}}), node({"check", "Assert", {"sum"}}),
                          node({"other", "Neg", {"sum"}}), node({"idle", "NoOp", {"^sum"}})}));
  ASSERT_EQ(graph->body().parameters().size(), 1u);
  EXPECT_EQ(graph->body().parameter(0)->type.to_string(), "f32[batch, 2]");
  ASSERT_EQ(graph->body().outputs().size(), 2u);
  EXPECT_EQ(graph->body().outputs()[0]->name(), "out");
  EXPECT_EQ(graph->body().outputs()[1]->name(), "other");
}

TEST(TensorFlow, OpenSizes) {
  const auto inputs = [](const std::vector<Message>& nodes) {
    const auto graph = imported(graph_def(nodes));
    std::string types;
    for (const auto& input : graph->body().parameters()) types += input->type.to_string() + " ";
    return types;
  };
  EXPECT_EQ(inputs({placeholder("a", f32, {-1, -1}), node({"y", "Relu", {"a"}})}), "f32[batch, a_1] ");
  EXPECT_EQ(
      inputs({placeholder("a", f32, {-1}), placeholder("b", f32, {-1}), node({"y", "AddV2", {"a", "b"}})}),
      "f32[a_0] f32[b_0] ");
  EXPECT_EQ(
      inputs({node({"a", "Placeholder", {}, {type("dtype", boolean)}}), node({"y", "LogicalNot", {"a"}})}),
      "bool[*] ");
  EXPECT_EQ(inputs({placeholder("a", f32, {}), node({"y", "Relu", {"a"}})}), "f32[] ");
}

TEST(TensorFlow, NegativeSizesInShapesThatTheOptimizerWroteAreUnknown) {
  const Message dims = Message().message(2, Message().integer(1, -3)).message(2, Message().integer(1, 2));
  const Message shapes = attribute("_output_shapes", Message().message(1, Message().message(7, dims)));
  const auto graph =
      imported(graph_def({placeholder("x", f32, {-1, 2}), node({"y", "Relu", {"x"}, {shapes}})}));
  EXPECT_EQ(graph->body().outputs()[0]->type.to_string(), "f32[batch, 2]");
}

TEST(TensorFlow, FunctionsAreInlined) {
  const auto graph = imported(varied_graph_def());
  EXPECT_EQ(graph->body().outputs()[0]->type.to_string(), "f32[batch, 2]");
  std::vector<float> ones(32, 1.0f);
  // conv gives (4, 6); the call gives 8, 12, of which channel 1 is taken; the sums are (8 + 6, 12 + 6).
  EXPECT_EQ(result(varied_graph_def(), {f32s(ones, {1, 4, 4, 2})}), "f32[1, 2](14, 18)");
}

TEST(TensorFlow, TextFormatGivesTheSameGraph) {
  const std::string text = R"(
    # as written by hand
    node { name: "x" op: "Placeholder"
           attr { key: "dtype" value { type: DT_FLOAT } }
           attr { key: "shape" value { shape { dim { size: -1 } dim { size: 2 } } } } }
    node < name: 'w', op: "Const";
           attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } }
             tensor_content: "\000\000\200?" "\x00\x00\x00@" } } } >
    node { name: "scale" op: "Const"
           attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: -1.5e0f } } } }
    node { name: "sum" op: "AddV2" input: ["x", "w"] attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "out" op: "Mul" input: "sum:0" input: "scale" unknown_field { a: 1 b { c: "d" } e: [1, 2] } }
    versions { producer: 1000 }
  )";
  EXPECT_EQ(result(text, {f32s({1, 2}, {1, 2})}), "f32[1, 2](-3, -6)");
}

TEST(TensorFlow, ConstantsRepeatTheirLastValue) {
  const auto one = [](const Message& made) {
    return result(graph_def({constant("c", made), node({"y", "Identity", {"c"}})}), {});
  };
  EXPECT_EQ(one(tensor(f32, {3}).real(5, 1).real(5, 2)), "f32[3](1, 2, 2)");
  EXPECT_EQ(one(tensor(i32, {2}).integer(7, -7)), "i32[2](-7, -7)");
  EXPECT_EQ(one(tensor(i64, {2})), "i64[2](0, 0)");
  EXPECT_EQ(one(tensor(boolean, {}).integer(11, 1)), "bool[](1)");
  EXPECT_EQ(one(tensor(7, {2}).bytes(8, "a").bytes(8, "b")), "string[2](\"a\", \"b\")");
  EXPECT_EQ(one(tensor(19, {1}).integer(13, 0x3c00)), "f16[1](1)");
}

TEST(TensorFlow, BranchesAndLoopsOfFunctions) {
  const Message twice = function_definition({.name = "twice",
                                             .inputs = {"a"},
                                             .outputs = {"r"},
                                             .results = {"sum:z:0"},
                                             .nodes = {node({"sum", "AddV2", {"a", "a"}})}});
  const Message less = function_definition({.name = "less",
                                            .inputs = {"a"},
                                            .outputs = {"r"},
                                            .results = {"small:z:0"},
                                            .nodes = {constant("most", tensor(f32, {}).real(5, 100)),
                                                      node({"small", "Less", {"a", "most:output:0"}})}});
  const Message negative = function_definition({.name = "negative",
                                                .inputs = {"a"},
                                                .outputs = {"r"},
                                                .results = {"n:y:0"},
                                                .nodes = {node({"n", "Neg", {"a"}})}});
  const std::string file = graph_def(
      {placeholder("x", f32, {}), placeholder("which", boolean, {}),
       node({"branch",
             "StatelessIf",
             {"which", "x"},
             {function("then_branch", "twice"), function("else_branch", "negative"), types("Tout", {f32})}}),
       node({"loop",
             "While",
             {"branch"},
             {function("cond", "less"), function("body", "twice"), types("T", {f32})}})},
      {twice, less, negative});
  EXPECT_EQ(result(file, {f32s({3}, {}), bools({1}, {})}), "f32[](192)");
  EXPECT_EQ(result(file, {f32s({-7}, {}), bools({0}, {})}), "f32[](112)");
}

TEST(TensorFlow, GraphsThatAreNotFrozenAreRefused) {
  const auto with = [](const graph_def_file::NodeSpec& spec) {
    return outcome(graph_def({placeholder("x", f32, {2}), node(spec)}));
  };
  LANNER_EXPECT_OUTCOME(with({"s", "Switch", {"x", "x"}}), "node s (Switch): control flow of TensorFlow 1");
  LANNER_EXPECT_OUTCOME(with({"v", "VarHandleOp"}), "expected a frozen graph");
  LANNER_EXPECT_OUTCOME(with({"v", "Mystery", {"x"}}),
                        "operators that this version does not know: Mystery (v)");
  LANNER_EXPECT_OUTCOME(with({"n", "FusedBatchNorm", {"x", "x", "x", "x", "x"}}), "training mode");
  LANNER_EXPECT_OUTCOME(with({"c", "Relu", {"nowhere"}}), "'nowhere' is read, but no earlier node writes it");
  LANNER_EXPECT_OUTCOME(with({"c", "PartitionedCall", {"x"}, {function("f", "none")}}),
                        "calls a function that the model does not have");
  LANNER_EXPECT_OUTCOME(with({"c", "Relu", {"c"}}),
                        "node c: every result is read by another node, so the graph has a cycle");
  LANNER_EXPECT_OUTCOME(with({"x", "Relu", {"x"}}), "two nodes are named 'x'");
  LANNER_EXPECT_OUTCOME(outcome(graph_def({placeholder("x", 20, {}), node({"y", "Identity", {"x"}})})),
                        "freeze");
  LANNER_EXPECT_OUTCOME(outcome(graph_def({placeholder("x", f32, {1})})), "has no outputs");
}

TEST(TensorFlow, RecursiveFunctionsAreRefused) {
  const Message itself = function_definition({.name = "f",
                                              .inputs = {"a"},
                                              .outputs = {"r"},
                                              .results = {"n:r:0"},
                                              .nodes = {node({"n", "f", {"a"}})}});
  LANNER_EXPECT_OUTCOME(outcome(graph_def({placeholder("x", f32, {1}), node({"y", "f", {"x"}})}, {itself})),
                        "function f calls itself");
}

TEST(TensorFlow, HugeNumbersAreRefused) {
  LANNER_EXPECT_OUTCOME(outcome(graph_def({placeholder("x", f32, {1}), node({"y", "Relu", {"x:70000"}})})),
                        "is not a result of a node");
  LANNER_EXPECT_OUTCOME(outcome(graph_def({placeholder("x", f32, {1}),
                                           node({"y", "Unpack", {"x"}, {integer("num", 1 << 20)}})})),
                        "results are more than");
  Limits limits;
  limits.tensor_bytes = 1 << 20;
  const auto with = [&](const Message& made) {
    return outcome(graph_def({constant("c", made), node({"y", "Identity", {"c"}})}), {}, limits);
  };
  LANNER_EXPECT_OUTCOME(with(tensor(f32, {1 << 20, 1 << 20}).real(5, 1)), "limit_exceeded");
  LANNER_EXPECT_OUTCOME(with(tensor(f32, {1 << 19}).real(5, 1)), "limit_exceeded");
  LANNER_EXPECT_OUTCOME(with(tensor(f32, {-1})), "negative or unknown");
  LANNER_EXPECT_OUTCOME(with(tensor(f32, {-5})), "negative or unknown");
  LANNER_EXPECT_OUTCOME(with(tensor(f32, {2}).bytes(4, "123")), "needs 8 bytes, tensor_content has 3");
  LANNER_EXPECT_OUTCOME(with(tensor(f32, {1}).real(5, 1).real(5, 2)), "2 values are given for it");
  LANNER_EXPECT_OUTCOME(with(tensor(99, {1})), "element type 99");
}

TEST(TensorFlow, TruncatedFilesAreRefused) {
  const std::string file = varied_graph_def();
  ASSERT_EQ(outcome(file).substr(0, 6), "graph ");
  for (std::size_t i = 0; i < 200; ++i) {
    SCOPED_TRACE(i);
    EXPECT_FALSE(outcome(std::string_view(file).substr(0, file.size() * i / 200)).empty());
  }
}

TEST(TensorFlow, RandomByteChangesGiveAGraphOrAnError) {
  const std::string file = varied_graph_def();
  Limits limits;
  limits.tensor_bytes = limits.total_bytes = 1 << 24;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::string changed = file;
    for (std::uint32_t i = 0; i <= seed % 4; ++i)
      changed[random() % changed.size()] = static_cast<char>(random());
    EXPECT_FALSE(outcome(changed, {}, limits).empty());
  }
}

TEST(TensorFlow, MalformedTextIsRefused) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "node {";
  LANNER_EXPECT_OUTCOME(outcome(deep), "over the limit depth of 64");
  LANNER_EXPECT_OUTCOME(outcome("node { name: \"x\n\" }"), "line 1: node '': a string does not end");
  LANNER_EXPECT_OUTCOME(outcome("node { name: \"x\""), "ends within a message");
  LANNER_EXPECT_OUTCOME(outcome("node { name: 5 }"), "field name: expected a string, got '5'");
  LANNER_EXPECT_OUTCOME(outcome("node { name: \"\\q\" }"), "unknown escape");
  LANNER_EXPECT_OUTCOME(outcome("node { name: \"\\U00110000\" }"), "the character U+110000");
  LANNER_EXPECT_OUTCOME(outcome("node { attr { key: \"a\" value { i: 99999999999999999999 } } }"),
                        "expected an integer");
  LANNER_EXPECT_OUTCOME(outcome("node { } \n\n }"), "line 3: expected a field's name");
  LANNER_EXPECT_OUTCOME(outcome("node [ { name: \"a\" op: \"NoOp\" }, "), "line 1");
  LANNER_EXPECT_OUTCOME(outcome("versions { producer: 5 } node"), "expected ':' or '{'");
}

} // namespace
} // namespace lanner::test
