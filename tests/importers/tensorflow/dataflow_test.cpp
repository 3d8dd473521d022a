// Control flow of TensorFlow 1, and lists. tests/python/models/test_tensorflow_control_flow.py compares
// TensorFlow's own graphs with its answers.

#include <fmt/format.h>
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

std::vector<Message> joined(std::vector<Message> nodes, const std::vector<Message>& more) {
  nodes.insert(nodes.end(), more.begin(), more.end());
  return nodes;
}

/// A conditional on `p`: `yes` and `no` read `gate:1` and `gate`, which are x, and write `yes` and `no`.
std::vector<Message> conditional(const Message& yes, const Message& no) {
  return {placeholder("x", f32, {2}),
          placeholder("p", boolean, {}),
          node({"id", "Identity", {"p"}}),
          node({"gate", "Switch", {"x", "id"}}),
          yes,
          no,
          node({"merge", "Merge", {"no", "yes"}})};
}

Message enter(const std::string& name, const std::string& from, bool constant = false,
              const std::string& frame = "f") {
  return node({name, "Enter", {from}, {text("frame_name", frame), flag("is_constant", constant)}});
}

/// A variable of a loop with the LoopCond `go`, whose names begin with its own.
std::vector<Message> variable(const std::string& name, const std::string& first, const std::string& next,
                              const std::string& frame = "f") {
  return {enter(name + "/enter", first, false, frame),
          node({name + "/merge", "Merge", {name + "/enter", name + "/next"}}),
          node({name + "/switch", "Switch", {name + "/merge", "go"}}),
          node({name + "/value", "Identity", {name + "/switch:1"}}),
          node({name + "/next", "NextIteration", {next}}),
          node({name + "/exit", "Exit", {name + "/switch"}})};
}

/// `i` counts to 4.
std::vector<Message> counter() {
  return joined(variable("i", "zero", "more"),
                {integers("zero", {0}, true), integers("one", {1}, true), integers("four", {4}, true),
                 enter("n", "four", true), node({"less", "Less", {"i/merge", "n"}}),
                 node({"go", "LoopCond", {"less"}}), node({"more", "AddV2", {"i/value", "one"}})});
}

TEST(Dataflow, ConditionalTakesTheBranchOfItsPredicate) {
  const std::string file =
      graph_def(joined(conditional(node({"yes", "Exp", {"gate:1"}}), node({"no", "Neg", {"gate"}})),
                       {node({"y", "Identity", {"merge"}})}));
  EXPECT_EQ(result(file, {f32s({0, 0}, {2}), bools({1}, {})}), "f32[2](1, 1)");
  EXPECT_EQ(result(file, {f32s({3, 4}, {2}), bools({0}, {})}), "f32[2](-3, -4)");
}

TEST(Dataflow, MergeKeepsItsNameAndIsAnOutput) {
  LANNER_EXPECT_OUTCOME(
      outcome(graph_def(conditional(node({"yes", "Exp", {"gate:1"}}), node({"no", "Neg", {"gate"}})))),
      "as \"merge\"");
}

TEST(Dataflow, BranchMayBeAConstantOrTheValueItself) {
  Message two = floats("yes", {2}, {2, 2});
  two.bytes(3, "^pivot");
  const std::string file =
      graph_def({placeholder("x", f32, {2}), placeholder("p", boolean, {}), node({"s", "Switch", {"p", "p"}}),
                 node({"pivot", "Identity", {"s:1"}}), node({"gate", "Switch", {"x", "p"}}), two,
                 node({"merge", "Merge", {"gate", "yes"}}), node({"y", "Neg", {"merge"}})});
  EXPECT_EQ(result(file, {f32s({3, 4}, {2}), bools({1}, {})}), "f32[2](-2, -2)");
  EXPECT_EQ(result(file, {f32s({3, 4}, {2}), bools({0}, {})}), "f32[2](-3, -4)");
}

/// `first` is a result of another conditional within the branch, `second` is not: both read `long`.
TEST(Dataflow, ResultsOfOneConditionalAreOneNode) {
  const std::string file = graph_def(
      {placeholder("x", f32, {2}), placeholder("p", boolean, {}), placeholder("q", boolean, {}),
       node({"c/x", "Switch", {"x", "p"}}), node({"c/q", "Switch", {"q", "p"}}),
       node({"c/long", "Exp", {"c/x:1"}}), node({"d/long", "Switch", {"c/long", "c/q:1"}}),
       node({"d/no", "Neg", {"d/long"}}), node({"d/Merge", "Merge", {"d/no", "d/long:1"}}),
       node({"c/Merge", "Merge", {"c/x", "d/Merge"}}), node({"c/Merge_1", "Merge", {"c/x", "c/long"}}),
       node({"y", "AddV2", {"c/Merge", "c/Merge_1"}})});
  const std::string text = outcome(file);
  const std::size_t first = text.find("= exp(");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(text.find("= exp(", first + 1), std::string::npos) << text;
  EXPECT_EQ(result(file, {f32s({0, 0}, {2}), bools({1}, {}), bools({1}, {})}), "f32[2](2, 2)");
  EXPECT_EQ(result(file, {f32s({0, 0}, {2}), bools({1}, {}), bools({0}, {})}), "f32[2](0, 0)");
  EXPECT_EQ(result(file, {f32s({3, 4}, {2}), bools({0}, {}), bools({0}, {})}), "f32[2](6, 8)");
}

TEST(Dataflow, ConditionalsThatDependOnEachOtherStayApart) {
  // One predicate and one scope: the second and the fourth read what the others decide.
  const std::string file = graph_def(
      {placeholder("x", f32, {}), placeholder("p", boolean, {}), placeholder("q", boolean, {}),
       node({"s1", "Switch", {"x", "p"}}), node({"n1", "Neg", {"s1"}}), node({"m1", "Merge", {"n1", "s1:1"}}),
       node({"s2", "Switch", {"x", "q"}}), node({"n2", "Exp", {"s2"}}), node({"m2", "Merge", {"n2", "s2:1"}}),
       node({"s3", "Switch", {"m1", "q"}}), node({"n3", "Square", {"s3"}}),
       node({"m3", "Merge", {"n3", "s3:1"}}), node({"s4", "Switch", {"m2", "p"}}),
       node({"n4", "Sqrt", {"s4"}}), node({"m4", "Merge", {"n4", "s4:1"}}),
       node({"y", "AddV2", {"m3", "m4"}})});
  EXPECT_EQ(result(file, {f32s({4}, {}), bools({0}, {}), bools({1}, {})}), "f32[](-2)");
  EXPECT_EQ(result(file, {f32s({4}, {}), bools({1}, {}), bools({1}, {})}), "f32[](8)");
}

TEST(Dataflow, ConditionalInAFunctionIsRead) {
  const Message function = function_definition(
      {.name = "f",
       .inputs = {"x", "p"},
       .outputs = {"r"},
       .results = {"merge:output:0"},
       .nodes = {node({"gate", "Switch", {"x", "p"}}), node({"yes", "Exp", {"gate:output_true:0"}}),
                 node({"no", "Neg", {"gate:output_false:0"}}),
                 node({"merge", "Merge", {"no:y:0", "yes:y:0"}})}});
  const std::string file = graph_def(
      {placeholder("x", f32, {}), placeholder("p", boolean, {}), node({"y", "f", {"x", "p"}})}, {function});
  EXPECT_EQ(result(file, {f32s({0}, {}), bools({1}, {})}), "f32[](1)");
  EXPECT_EQ(result(file, {f32s({3}, {}), bools({0}, {})}), "f32[](-3)");
}

TEST(Dataflow, LoopRunsUntilItsConditionIsFalse) {
  const std::string file =
      graph_def(joined(joined(counter(), variable("a", "x", "twice")),
                       {placeholder("x", f32, {2}), enter("k", "x", true),
                        node({"twice", "AddV2", {"a/value", "k"}}), node({"y", "Identity", {"a/exit"}})}));
  // The counter's Exit is an output too, as nothing reads it.
  LANNER_EXPECT_OUTCOME(outcome(file), "as \"i/exit\"");
  LANNER_EXPECT_OUTCOME(outcome(file), "loop");
  const std::string only = graph_def(
      joined(joined(counter(), variable("a", "x", "twice")),
             {placeholder("x", f32, {2}), enter("k", "x", true), node({"twice", "AddV2", {"a/value", "k"}}),
              node({"number", "Cast", {"i/exit"}, {type("DstT", f32)}}),
              node({"y", "AddV2", {"a/exit", "number"}})}));
  EXPECT_EQ(result(only, {f32s({1, 10}, {2})}), "f32[2](9, 54)");
}

TEST(Dataflow, VariableOfALoweredLoopThatNothingReadsIsNoOutput) {
  const std::string file = graph_def(
      {placeholder("x", f32, {}), floats("most", {}, {50}), enter("e", "x"), enter("k", "most", true),
       node({"m", "Merge", {"e", "n"}}), node({"less", "Less", {"m", "k"}}),
       node({"go", "LoopCond", {"less"}}), node({"s", "Switch", {"m", "go"}}),
       node({"twice", "AddV2", {"s:1", "s:1"}}), node({"n", "NextIteration", {"twice"}}),
       node({"while/exit/_7", "Exit", {"s"}}), node({"y", "Neg", {"x"}})});
  LANNER_EXPECT_OUTCOME(outcome(file), "(%x: f32[]) -> (%y: f32[] as \"y\")");
}

TEST(Dataflow, ListThatALoopFillsIsStacked) {
  const std::string file = graph_def(joined(
      joined(counter(), variable("a", "array:1", "write")),
      {placeholder("x", f32, {4, 2}), integers("all", {0, 1, 2, 3}),
       node({"array", "TensorArrayV3", {"four"}, {type("dtype", f32)}}),
       node({"given", "TensorArrayV3", {"four"}, {type("dtype", f32)}}),
       node({"fill", "TensorArrayScatterV3", {"given", "all", "x", "given:1"}}),
       enter("handle", "array", true), enter("given/handle", "given", true), enter("flow", "fill", true),
       node({"read", "TensorArrayReadV3", {"given/handle", "i/value", "flow"}, {type("dtype", f32)}}),
       node({"square", "Mul", {"read", "read"}}),
       node({"write", "TensorArrayWriteV3", {"handle", "i/value", "square", "a/value"}}),
       node({"size", "TensorArraySizeV3", {"array", "a/exit"}}),
       node({"number", "AddV2", {"size", "i/exit"}}), node({"real", "Cast", {"number"}, {type("DstT", f32)}}),
       node({"stack", "TensorArrayGatherV3", {"array", "all", "a/exit"}, {type("dtype", f32)}}),
       node({"y", "AddV2", {"stack", "real"}})}));
  LANNER_EXPECT_OUTCOME(outcome(file), "%y: f32[4, 2] as \"y\"");
  EXPECT_EQ(result(file, {f32s({1, 2, 3, 4, 5, 6, 7, 8}, {4, 2})}),
            "f32[4, 2](9, 12, 17, 24, 33, 44, 57, 72)");
}

/// A loop of functions that fills a list of unknown elements.
TEST(Dataflow, ListThatALoopOfFunctionsFillsIsStacked) {
  const Message going = function_definition(
      {.name = "going",
       .inputs = {"i", "list", "x"},
       .outputs = {"r"},
       .results = {"less:z:0"},
       .nodes = {integers("four", {4}, true), node({"less", "Less", {"i", "four:output:0"}})}});
  const Message step = function_definition(
      {.name = "step",
       .inputs = {"i", "list", "x"},
       .outputs = {"j", "l", "y"},
       .results = {"more:z:0", "set:output_handle:0", "x"},
       .nodes = {integers("one", {1}, true), node({"more", "AddV2", {"i", "one:output:0"}}),
                 integers("axis", {0}, true), node({"row", "GatherV2", {"x", "i", "axis:output:0"}}),
                 node({"twice", "AddV2", {"row:output:0", "row:output:0"}}),
                 node({"set", "TensorListSetItem", {"list", "i", "twice:z:0"}})}});
  const std::string file =
      graph_def({placeholder("x", f32, {-1, 2}), integers("zero", {0}, true), integers("four", {4}, true),
                 integers("any", {-1}, true),
                 node({"list", "TensorListReserve", {"any", "four"}, {type("element_dtype", f32)}}),
                 node({"loop",
                       "While",
                       {"zero", "list", "x"},
                       {function("cond", "going"), function("body", "step"), types("T", {i32, f32, f32})}}),
                 node({"y", "TensorListStack", {"loop:1", "any"}})},
                {going, step});
  LANNER_EXPECT_OUTCOME(outcome(file), "f32[4, 2] as \"y\"");
  EXPECT_EQ(result(file, {f32s({1, 2, 3, 4, 5, 6, 7, 8}, {4, 2})}), "f32[4, 2](2, 4, 6, 8, 10, 12, 14, 16)");
}

TEST(Dataflow, NumberChoosesOneOfSeveralFunctions) {
  const auto function_of = [](const std::string& name, const std::string& op) {
    return function_definition({.name = name,
                                .inputs = {"x"},
                                .outputs = {"r"},
                                .results = {"v:y:0"},
                                .nodes = {node({"v", op, {"x"}})}});
  };
  Message names;
  for (const char* name : {"neg", "square", "exp"}) names.message(9, Message().bytes(1, name));
  Message branches;
  branches.bytes(1, "branches").message(2, Message().message(1, names));
  const std::string file =
      graph_def({placeholder("n", i32, {}), placeholder("x", f32, {}),
                 node({"y", "StatelessCase", {"n", "x"}, {branches, types("Tout", {f32})}})},
                {function_of("neg", "Neg"), function_of("square", "Square"), function_of("exp", "Exp")});
  const auto chosen = [&](std::int32_t number) {
    return result(file, {Tensor::scalar<std::int32_t>(number), f32s({0.5F}, {})});
  };
  EXPECT_EQ(chosen(0), "f32[](-0.5)");
  EXPECT_EQ(chosen(1), "f32[](0.25)");
  EXPECT_EQ(chosen(2), "f32[](1.6487212)");
  EXPECT_EQ(chosen(9), chosen(2));
  EXPECT_EQ(chosen(-1), chosen(2));
}

TEST(Dataflow, ListThatALoopFillsInPartKeepsTheRest) {
  const std::string file =
      graph_def(joined(joined(counter(), variable("a", "list", "write")),
                       {placeholder("x", f32, {6}), integers("any", {-1}, true), floats("nine", {}, {9}),
                        node({"list", "TensorListFromTensor", {"x", "any"}}), enter("value", "nine", true),
                        node({"write", "TensorListSetItem", {"a/value", "i/value", "value"}}),
                        node({"stack", "TensorListStack", {"a/exit", "any"}}),
                        node({"number", "Cast", {"i/exit"}, {type("DstT", f32)}}),
                        node({"y", "AddV2", {"stack", "number"}})}));
  LANNER_EXPECT_OUTCOME(outcome(file), "f32[6] as \"y\"");
  EXPECT_EQ(result(file, {f32s({1, 2, 3, 4, 5, 6}, {6})}), "f32[6](13, 13, 13, 13, 9, 10)");
}

std::string of_list(const std::vector<Message>& nodes) {
  return graph_def(joined({placeholder("x", f32, {2}), integers("zero", {0}, true),
                           integers("two", {2}, true), integers("shape", {2}), integers("any", {-1}, true)},
                          nodes));
}

TEST(Dataflow, ListsAreTensors) {
  const auto dtype = type("element_dtype", f32);
  const auto with_two =
      std::vector<Message>{node({"list", "TensorListReserve", {"shape", "two"}, {dtype}}),
                           node({"one", "TensorListSetItem", {"list", "zero", "x"}, {dtype}}),
                           node({"three", "TensorListPushBack", {"one", "x"}, {dtype}})};
  EXPECT_EQ(result(of_list(joined(with_two, {node({"y", "TensorListStack", {"three", "any"}, {dtype}})})),
                   {f32s({1, 2}, {2})}),
            "f32[3, 2](1, 2, 0, 0, 1, 2)");
  EXPECT_EQ(
      result(of_list(joined(with_two, {node({"y", "TensorListLength", {"three"}})})), {f32s({1, 2}, {2})}),
      "i32[](3)");
  EXPECT_EQ(
      result(of_list(joined(with_two, {node({"y", "TensorListGetItem", {"three", "two", "any"}, {dtype}})})),
             {f32s({1, 2}, {2})}),
      "f32[2](1, 2)");
  EXPECT_EQ(result(of_list(joined(std::vector<Message>(with_two.begin(), with_two.begin() + 2),
                                  {node({"pop", "TensorListPopBack", {"one", "any"}, {dtype}}),
                                   node({"sum", "AddV2", {"pop:1", "x"}}),
                                   node({"rest", "TensorListStack", {"pop", "any"}, {dtype}}),
                                   node({"y", "AddV2", {"rest", "sum"}})})),
                   {f32s({1, 2}, {2})}),
            "f32[1, 2](2, 4)");
  EXPECT_EQ(
      result(of_list(joined(with_two,
                            {node({"y", "TensorListElementShape", {"three"}, {type("shape_type", i32)}})})),
             {f32s({1, 2}, {2})}),
      "i32[1](2)");
}

TEST(Dataflow, ListOfUnknownElementsOutsideOfALoopIsRefused) {
  const auto dtype = type("element_dtype", f32);
  const std::string scalars = of_list({node({"list", "TensorListReserve", {"any", "two"}, {dtype}}),
                                       node({"s", "Sum", {"x", "zero"}}),
                                       node({"set", "TensorListSetItem", {"list", "zero", "s"}, {dtype}}),
                                       node({"y", "TensorListStack", {"set", "any"}, {dtype}})});
  LANNER_EXPECT_OUTCOME(outcome(scalars), "node set (TensorListSetItem): the shape of a list's elements");
}

TEST(Dataflow, OtherFormsAreRefusedWithTheReason) {
  const auto yes = node({"yes", "Exp", {"gate:1"}}), no = node({"no", "Neg", {"gate"}});
  const auto with = [&](std::vector<Message> more) {
    return outcome(graph_def(joined(conditional(yes, no), more)));
  };
  LANNER_EXPECT_OUTCOME(with({node({"y", "Identity", {"merge:1"}})}),
                        "reads which branch the Merge merge took");
  LANNER_EXPECT_OUTCOME(with({node({"y", "AddV2", {"yes", "no"}})}), "node y needs both branches");
  LANNER_EXPECT_OUTCOME(with({node({"y", "Sin", {"yes"}})}),
                        "node y is in a branch or a loop, and nothing leads");
  LANNER_EXPECT_OUTCOME(with({node({"m", "Merge", {"yes", "merge", "no"}})}), "merges 3 values, expected 2");
  LANNER_EXPECT_OUTCOME(with({node({"m", "Merge", {"yes", "yes"}})}), "are not those of the branches");
  LANNER_EXPECT_OUTCOME(with({node({"g", "Switch", {"x"}}), node({"y", "Neg", {"g"}})}),
                        "node g has no predicate");
  LANNER_EXPECT_OUTCOME(outcome(graph_def({placeholder("x", f32, {}), node({"e", "Enter", {"x"}})})),
                        "node e names no frame");
  LANNER_EXPECT_OUTCOME(outcome(graph_def({placeholder("x", f32, {}), node({"a", "Merge", {"x", "b"}}),
                                           node({"b", "Merge", {"a", "x"}}), node({"y", "Neg", {"b"}})})),
                        "the graph has a cycle");
}

TEST(Dataflow, LoopOfAnotherFormIsRefused) {
  const auto broken = [](const std::vector<Message>& more) {
    return outcome(graph_def(joined(counter(), more)));
  };
  LANNER_EXPECT_OUTCOME(broken({node({"y", "Exit", {"i/value"}})}), "control flow of TensorFlow 1");
  LANNER_EXPECT_OUTCOME(
      broken({node({"second", "Switch", {"i/merge", "go"}}), node({"y", "Exit", {"second"}})}),
      "two Switches read the loop's variable i/merge");
}

TEST(Dataflow, ThousandsOfConditionalsAreRead) {
  std::vector<Message> nodes{placeholder("x", f32, {}), placeholder("p", boolean, {})};
  std::string value = "x";
  for (int i = 0; i < 3000; ++i) {
    const std::string gate = fmt::format("g{}", i), merge = fmt::format("m{}", i);
    nodes.push_back(node({gate, "Switch", {value, "p"}}));
    nodes.push_back(node({merge, "Merge", {gate, gate + ":1"}}));
    value = merge;
  }
  nodes.push_back(node({"y", "Neg", {value}}));
  EXPECT_EQ(result(graph_def(nodes), {f32s({2}, {}), bools({1}, {})}), "f32[](-2)");
}

} // namespace
} // namespace lanner::test
