#include "tf/segment/segmenter.h"

#include <gtest/gtest.h>

#include "expect_error.h"
#include "tf/segmenter_graphs.h"

namespace lanner::test {
namespace {

using tf::Segmentation;
using tf::SegmenterOptions;

/// TF-TRT's own segmenter tests have a minimum of two.
SegmenterOptions pairs() {
  SegmenterOptions options;
  options.minimum_segment_size = 2;
  return options;
}

NamedSegments segments_of(const SegmenterGraphText& text, const SegmenterOptions& options = pairs()) {
  return names_of(text.graph, tf::segment_graph(text.graph, options));
}

std::string code_of(const SegmenterGraphText& text, const Segmentation& segmentation,
                    const std::string& name) {
  for (const tf::NativeNode& native : segmentation.native)
    if (text.graph.nodes[native.node].name == name) return native.reason.code;
  return "converted";
}

void make_native(SegmenterGraphText& text, const std::string& name) {
  text.node(name).reason = tf::NativeReason{"no_rule", "not a candidate"};
}

/// feed -> add0, add1 -> add2 -> add3 (also from add0), add4
SegmenterGraphText five_adds() {
  SegmenterGraphText text;
  text.native("feed", {});
  text.add("add0", {"feed", "feed"});
  text.add("add1", {"feed", "feed"});
  text.add("add2", {"add0", "add1"});
  text.add("add3", {"add0", "add2"});
  text.add("add4", {"add2", "add2"});
  text.fetch("add4");
  return text;
}

TEST(Segmenter, EmptyGraphHasNoSegments) {
  EXPECT_EQ(segments_of({}), NamedSegments{});
}

TEST(Segmenter, AllCandidatesBecomeOneSegment) {
  EXPECT_EQ(segments_of(five_adds()), (NamedSegments{{"add0", "add1", "add2", "add3", "add4"}}));
}

TEST(Segmenter, ANodeThatIsNoCandidateStaysOutside) {
  auto text = five_adds();
  make_native(text, "add1");
  EXPECT_EQ(segments_of(text), (NamedSegments{{"add0", "add2", "add3", "add4"}}));
}

TEST(Segmenter, WhatMayNotReadFromOutsideLeavesWithItsInputs) {
  auto text = five_adds();
  make_native(text, "add1");
  text.node("add2").inputs_may_enter = false;
  const auto result = tf::segment_graph(text.graph, pairs());
  EXPECT_EQ(names_of(text.graph, result), (NamedSegments{{"add3", "add4"}}));
  EXPECT_EQ(code_of(text, result, "add2"), "engine_input");
  EXPECT_EQ(code_of(text, result, "add0"), "engine_input");
}

TEST(Segmenter, InnerNodesNeedNotBeAllowedAtTheBoundary) {
  auto text = five_adds();
  text.node("add2").inputs_may_enter = false;
  EXPECT_EQ(segments_of(text), (NamedSegments{{"add0", "add1", "add2", "add3", "add4"}}));
  text.node("add3").outputs_may_leave = false;
  EXPECT_EQ(segments_of(text), (NamedSegments{{"add0", "add1", "add2", "add3", "add4"}}));
  text.node("add2").inputs_may_enter = true;
  text.node("add1").inputs_may_enter = false;
  EXPECT_EQ(segments_of(text), (NamedSegments{{"add0", "add2", "add3", "add4"}}));
}

TEST(Segmenter, NoPairIsJoinedAroundANativeNode) {
  auto text = five_adds();
  make_native(text, "add2");
  EXPECT_EQ(segments_of(text), NamedSegments{});
}

/// Two branches from feed that meet in add5 and add6.
SegmenterGraphText nine_adds() {
  SegmenterGraphText text;
  text.native("feed", {});
  for (const char* name : {"add0", "add1", "add7"}) text.add(name, {"feed", "feed"});
  text.add("add2", {"add0", "add1"});
  text.add("add5", {"add2", "add7"});
  text.add("add8", {"add7", "add7"});
  text.add("add3", {"add0", "add2"});
  text.add("add4", {"add2", "add5"});
  text.add("add6", {"add5", "add8"});
  for (const char* name : {"add3", "add4", "add6"}) text.fetch(name);
  return text;
}

TEST(Segmenter, ANativeNodeDividesAGraphIntoTwoSegments) {
  auto text = nine_adds();
  make_native(text, "add5");
  const auto segments = segments_of(text);
  EXPECT_EQ(std::set(segments.begin(), segments.end()),
            (std::set<std::set<std::string>>{{"add0", "add1", "add2", "add3"}, {"add6", "add8"}}));
}

TEST(Segmenter, TrimmingReachesAllIndirectInputs) {
  auto text = nine_adds();
  make_native(text, "add8");
  text.node("add6").inputs_may_enter = false;
  EXPECT_EQ(segments_of(text), (NamedSegments{{"add3", "add4"}}));
}

TEST(Segmenter, TrimmingReachesAllIndirectOutputs) {
  auto text = nine_adds();
  make_native(text, "add3");
  text.node("add0").outputs_may_leave = false;
  text.fetch("add1"); // or nothing would read the result
  text.fetch("add8");
  EXPECT_EQ(segments_of(text), (NamedSegments{{"add1", "add7", "add8"}}));
}

TEST(Segmenter, BranchesGrowFromTheOutputs) {
  SegmenterGraphText text;
  text.native("feed", {});
  text.add("add0", {"feed", "feed"});
  text.add("add1", {"add0", "add0"});
  text.native("add2", {"add1", "add1"}, "Add");
  text.add("add3", {"add2", "add2"});
  text.add("add4", {"add0", "add0"});
  text.add("add5", {"add4", "add4"});
  text.add("add6", {"add5", "add5"});
  text.add("add7", {"add3", "add6"});
  text.fetch("add7");
  EXPECT_EQ(segments_of(text), (NamedSegments{{"add0", "add1"}, {"add3", "add4", "add5", "add6", "add7"}}));
}

TEST(Segmenter, ADiamondWithANativeSideJoinsTheLowerEdge) {
  SegmenterGraphText text;
  text.native("in", {});
  text.add("a", {"in"});
  text.add("b", {"a"});
  text.native("c", {"a"}, "Other");
  text.add("d", {"b", "c"});
  text.fetch("d");
  EXPECT_EQ(segments_of(text), (NamedSegments{{"b", "d"}}));
}

TEST(Segmenter, DevicesOfASegmentAgree) {
  auto text = five_adds();
  for (const char* name : {"add0", "add1", "add2"}) text.node(name).device = "/device:GPU:0";
  for (const char* name : {"add3", "add4"}) text.node(name).device = "/job:a/replica:0/task:0/device:GPU:1";
  EXPECT_EQ(segments_of(text), (NamedSegments{{"add0", "add1", "add2"}}));
  for (const char* name : {"add3", "add4"}) text.node(name).device = "/device:GPU:*";
  EXPECT_EQ(segments_of(text), (NamedSegments{{"add0", "add1", "add2", "add3", "add4"}}));
  for (const char* name : {"add3", "add4"}) text.node(name).device = "/job:localhost/gpu:0";
  EXPECT_EQ(segments_of(text), (NamedSegments{{"add0", "add1", "add2", "add3", "add4"}}));
  for (const char* name : {"add3", "add4"}) text.node(name).device = "whatever";
  EXPECT_EQ(segments_of(text), (NamedSegments{{"add0", "add1", "add2"}}));
}

TEST(Segmenter, IdentitiesDoNotCount) {
  SegmenterGraphText text;
  text.native("feed", {});
  text.add("identity0", {"feed"}, "Identity");
  text.add("identity1", {"identity0"}, "Snapshot");
  text.add("identity2", {"identity1"}, "StopGradient");
  text.add("identity3", {"identity2"}, "Identity");
  text.fetch("identity3");
  const auto result = tf::segment_graph(text.graph, pairs());
  EXPECT_TRUE(result.segments.empty());
  EXPECT_EQ(code_of(text, result, "identity1"), "segment_too_small");
}

/// Two additions of one constant.
SegmenterGraphText two_chains(std::optional<std::int64_t> first, std::optional<std::int64_t> second) {
  SegmenterGraphText text;
  text.native("input-0", {});
  text.native("input-1", {});
  text.add("const-scalar", {}, "Const");
  text.add("output-0", {"input-0", "const-scalar"}).batch = first;
  text.add("output-1", {"input-1", "const-scalar"}).batch = second;
  text.fetch("output-0");
  text.fetch("output-1");
  return text;
}

TEST(Segmenter, BatchSizesOfASegmentAgree) {
  EXPECT_EQ(segments_of(two_chains(2, 2)), (NamedSegments{{"const-scalar", "output-0", "output-1"}}));
  EXPECT_EQ(segments_of(two_chains(-1, std::nullopt)),
            (NamedSegments{{"const-scalar", "output-0", "output-1"}}));
  // The constant joins the first by name and is read by the other too, so that it leaves again.
  auto text = two_chains(2, 5);
  const auto result = tf::segment_graph(text.graph, pairs());
  EXPECT_EQ(names_of(text.graph, result), NamedSegments{});
  EXPECT_EQ(code_of(text, result, "const-scalar"), "constant");
  EXPECT_EQ(segments_of(two_chains(-1, 5)), NamedSegments{});
}

TEST(Segmenter, LargestBatchSizesOfASegmentAgree) {
  auto text = five_adds();
  text.node("add0").max_batch = 8;
  text.node("add4").max_batch = 8;
  EXPECT_EQ(segments_of(text), (NamedSegments{{"add0", "add1", "add2", "add3", "add4"}}));
  text.node("add4").max_batch = 16;
  EXPECT_EQ(segments_of(text), (NamedSegments{{"add1", "add2", "add3", "add4"}}));
}

/// A chain of `length` nodes between an input and a native reader.
SegmenterGraphText chain(int length) {
  SegmenterGraphText text;
  text.native("in", {});
  std::string last = "in";
  for (int i = 0; i < length; ++i) {
    const std::string name = fmt::format("n{:02}", i);
    text.add(name, {last}, "Relu");
    last = name;
  }
  text.native("out", {last}, "Print");
  return text;
}

TEST(Segmenter, TheMinimumSizeIsExact) {
  SegmenterOptions options;
  options.minimum_segment_size = 4;
  for (const int length : {3, 4, 5}) {
    const auto text = chain(length);
    const auto result = tf::segment_graph(text.graph, options);
    EXPECT_EQ(result.segments.size(), length >= 4 ? 1u : 0u) << length;
    EXPECT_EQ(code_of(text, result, "n00"), length >= 4 ? "converted" : "segment_too_small") << length;
  }
  auto text = chain(4);
  text.node("n02").counts = false;
  const auto result = tf::segment_graph(text.graph, options);
  EXPECT_TRUE(result.segments.empty());
  EXPECT_EQ(result.native.at(1).reason.text,
            "its segment, from 'n00' on, has 3 nodes that count, and minimum_segment_size is 4");
}

TEST(Segmenter, AMinimumOfMinusOneLeavesTheGraphAlone) {
  SegmenterOptions options;
  options.minimum_segment_size = -1;
  const auto text = chain(5);
  const auto result = tf::segment_graph(text.graph, options);
  EXPECT_TRUE(result.segments.empty());
  EXPECT_EQ(code_of(text, result, "n03"), "graph_left_alone");
  for (const int size : {0, -2}) {
    options.minimum_segment_size = size;
    LANNER_EXPECT_ERROR(tf::segment_graph(text.graph, options), ErrorCode::invalid_argument,
                        "minimum_segment_size");
  }
}

TEST(Segmenter, BindingsFollowTheNodes) {
  SegmenterGraphText text;
  text.native("in", {});
  text.native("other", {});
  text.native("start", {}, "NoOp");
  text.add("kernel", {}, "Const");
  text.add("shared", {}, "Const");
  text.add("split", {"in"}, "Split");
  text.add("conv", {"split:1", "kernel"}, "Conv2D");
  text.add("sum", {"conv", "other:2", "shared", "^start"});
  text.native("print", {"sum", "shared", "split:3", "split:1"}, "Print");
  text.native("after", {"^sum"}, "NoOp");
  text.fetch("split:2");
  const auto result = tf::segment_graph(text.graph, {});
  ASSERT_EQ(result.segments.size(), 1u);
  const tf::Segment& segment = result.segments[0];
  const auto at = [&](const char* name) { return text.index.at(name); };
  EXPECT_EQ(segment.name, "TRTEngineOp_000_000");
  EXPECT_EQ(names_of(text.graph, result), (NamedSegments{{"kernel", "split", "conv", "sum"}}));
  EXPECT_EQ(segment.constants, std::vector{at("shared")});
  EXPECT_EQ(segment.inputs, (std::vector<tf::NodeOutput>{{at("in"), 0}, {at("other"), 2}}));
  EXPECT_EQ(segment.outputs, (std::vector<tf::NodeOutput>{
                                 {at("split"), 1}, {at("split"), 2}, {at("split"), 3}, {at("sum"), 0}}));
  EXPECT_EQ(segment.control_inputs, std::vector{at("start")});
  EXPECT_EQ(code_of(text, result, "shared"), "constant");
  EXPECT_EQ(tf::input_binding(1), "TensorRTInputPH_1");
  EXPECT_EQ(tf::output_binding(0), "TensorRTOutputPH_0");
}

TEST(Segmenter, EnginesHaveTheNamesOfTheirTime) {
  auto text = chain(3);
  SegmenterOptions options;
  options.graph_number = 12;
  EXPECT_EQ(tf::segment_graph(text.graph, options).segments.at(0).name, "TRTEngineOp_012_000");
  options.names = tf::EngineNames::segment;
  EXPECT_EQ(tf::segment_graph(text.graph, options).segments.at(0).name, "TRTEngineOp_0");
  text.native("TRTEngineOp_0", {}, "TRTEngineOp");
  EXPECT_EQ(tf::segment_graph(text.graph, options).segments.at(0).name, "TRTEngineOp_0_1");
}

TEST(Segmenter, DeniedAndPretendedNodesAreObeyed) {
  auto text = chain(9);
  text.node("n04").op = "Softmax";
  make_native(text, "n06");
  text.node("n06").op = "Odd";
  SegmenterOptions options = pairs();
  options.pretended_operators = {"Odd", "Softmax"};
  EXPECT_EQ(segments_of(text, options).size(), 1u);
  options.denied_operators = {"Softmax"};
  options.denied_nodes = {"n07"};
  const auto result = tf::segment_graph(text.graph, options);
  EXPECT_EQ(names_of(text.graph, result), (NamedSegments{{"n00", "n01", "n02", "n03"}, {"n05", "n06"}}));
  EXPECT_EQ(code_of(text, result, "n04"), "denied_operator");
  EXPECT_EQ(code_of(text, result, "n07"), "denied_node");
  EXPECT_EQ(code_of(text, result, "n08"), "segment_too_small");
  EXPECT_EQ(code_of(text, result, "out"), "no_rule");
}

/// Chains between native nodes, of these lengths.
SegmenterGraphText chains(const std::vector<int>& lengths) {
  SegmenterGraphText text;
  text.native("in", {});
  std::string last = "in";
  for (std::size_t c = 0; c < lengths.size(); ++c) {
    for (int i = 0; i < lengths[c]; ++i) {
      const std::string name = fmt::format("c{:02}_{}", c, i);
      text.add(name, {last}, "Relu");
      last = name;
    }
    const std::string name = fmt::format("native{:02}", c);
    text.native(name, {last}, "Print");
    last = name;
  }
  return text;
}

TEST(Segmenter, TheSmallestSegmentsBeyondTheMaximumStayNative) {
  std::vector<int> lengths(22, 4);
  lengths[3] = 5;
  lengths[5] = 3;
  lengths[20] = 3;
  const auto text = chains(lengths);
  const auto result = tf::segment_graph(text.graph, {});
  EXPECT_EQ(result.segments.size(), 20u);
  EXPECT_EQ(code_of(text, result, "c05_0"), "too_many_engines");
  EXPECT_EQ(code_of(text, result, "c20_2"), "too_many_engines");
  EXPECT_EQ(result.segments.back().name, "TRTEngineOp_000_019");
  SegmenterOptions options;
  options.maximum_engines = 0;
  EXPECT_EQ(tf::segment_graph(text.graph, options).segments.size(), 22u);
  options.maximum_engines = 1;
  EXPECT_EQ(segments_of(text, options), (NamedSegments{{"c03_0", "c03_1", "c03_2", "c03_3", "c03_4"}}));
}

TEST(Segmenter, SegmentsWithoutInputsOrOutputsStayNative) {
  SegmenterGraphText text;
  text.add("a", {}, "Const");
  text.add("b", {"a"});
  text.add("c", {"b"});
  text.native("print", {"c"}, "Print");
  text.native("in", {});
  text.add("x", {"in"});
  text.add("y", {"x"});
  text.add("z", {"y"});
  const auto result = tf::segment_graph(text.graph, {});
  EXPECT_TRUE(result.segments.empty());
  EXPECT_EQ(code_of(text, result, "b"), "segment_without_inputs");
  EXPECT_EQ(code_of(text, result, "x"), "segment_without_outputs");
}

TEST(Segmenter, AControlEdgeThroughANativeNodeKeepsSegmentsApart) {
  SegmenterGraphText text;
  text.native("in", {});
  text.add("a", {"in"});
  text.native("log", {"^a"}, "NoOp");
  text.add("b", {"a", "^log"});
  text.fetch("b");
  EXPECT_EQ(segments_of(text), NamedSegments{});
  text.node("b").control_inputs.clear();
  EXPECT_EQ(segments_of(text), (NamedSegments{{"a", "b"}}));
}

TEST(Segmenter, SegmentsThatAControlEdgeKeptApartAreJoinedLater) {
  SegmenterGraphText text;
  text.native("in", {});
  text.add("x", {"in"});
  text.add("first", {"in"});
  text.add("p", {"first", "^x"});
  text.add("y", {"first", "x", "^p"});
  text.fetch("p");
  text.fetch("y");
  EXPECT_EQ(segments_of(text), (NamedSegments{{"first", "p", "x", "y"}}));
}

TEST(Segmenter, LoopsOfTensorFlow1AreNoCycles) {
  SegmenterGraphText text;
  text.native("enter", {}, "Enter");
  text.add("merge", {"enter"}, "Merge");
  text.add("a", {"merge"});
  text.add("b", {"a"});
  text.add("c", {"b"});
  text.add("next", {"c"}, "NextIteration");
  text.node("merge").inputs.push_back({text.index.at("next"), 0});
  const auto result = tf::segment_graph(text.graph, {});
  EXPECT_EQ(names_of(text.graph, result), (NamedSegments{{"a", "b", "c"}}));
  EXPECT_EQ(code_of(text, result, "merge"), "loop");
}

TEST(Segmenter, CyclesAndMissingInputsAreOneClearError) {
  auto text = chain(3);
  text.node("n00").inputs[0].node = text.index.at("n02");
  LANNER_EXPECT_ERROR(tf::segment_graph(text.graph, {}), ErrorCode::bad_data,
                      "the graph has a cycle of 3 nodes: 'n00' -> 'n01' -> 'n02' -> 'n00'");
  text = chain(3);
  text.node("n01").control_inputs.push_back(text.index.at("n01"));
  LANNER_EXPECT_ERROR(tf::segment_graph(text.graph, {}), ErrorCode::bad_data, "a cycle of 1 nodes: 'n01'");
  text = chain(3);
  text.node("n01").inputs[0].node = 99;
  LANNER_EXPECT_ERROR(tf::segment_graph(text.graph, {}), ErrorCode::bad_data,
                      "node 'n01' reads node number 99, the graph has 5 nodes");
  text = chain(3);
  text.graph.fetched.push_back({77, 0});
  LANNER_EXPECT_ERROR(tf::segment_graph(text.graph, {}), ErrorCode::bad_data, "node 77");
  text = chain(3);
  text.node("n02").name = "n01";
  LANNER_EXPECT_ERROR(tf::segment_graph(text.graph, {}), ErrorCode::bad_data, "two nodes are named 'n01'");
}

} // namespace
} // namespace lanner::test
