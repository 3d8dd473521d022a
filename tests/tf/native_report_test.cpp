#include "tf/segment/native_report.h"

#include <gtest/gtest.h>

#include "tf/segmenter_graphs.h"

namespace lanner::test {
namespace {

SegmenterGraphText guide_graph() {
  SegmenterGraphText text;
  text.native("input", {}, "Placeholder");
  text.native("init", {}, "NoOp");
  text.add("conv", {"input"}, "Conv2D");
  text.add("bias", {"conv"}, "BiasAdd");
  text.add("relu", {"bias"}, "Relu");
  text.native("classes", {"relu"}, "ArgMax");
  text.native("out", {"relu"}, "Identity").reason = tf::NativeReason{"output", "the graph's output"};
  text.native("labels", {"classes"}, "Identity").reason = tf::NativeReason{"string", "text | on\ntwo lines"};
  return text;
}

TEST(NativeReport, TheLineIsThatOfTheGuide) {
  const auto text = guide_graph();
  const auto groups = tf::native_groups(text.graph, tf::segment_graph(text.graph, {}));
  EXPECT_EQ(tf::native_line(groups),
            "There are 5 ops of 4 different types in the graph that are not converted to "
            "TensorRT: ArgMax, Identity, NoOp, Placeholder.");
}

TEST(NativeReport, GroupsAreByOperatorAndReason) {
  auto text = guide_graph();
  text.native("more", {"relu"}, "Identity").reason = tf::NativeReason{"string", "another"};
  const auto groups = tf::native_groups(text.graph, tf::segment_graph(text.graph, {}));
  ASSERT_EQ(groups.size(), 5u);
  EXPECT_EQ(groups[0].op, "Identity");
  EXPECT_EQ(groups[0].reason.code, "string");
  EXPECT_EQ(groups[0].nodes, (std::vector{text.index.at("labels"), text.index.at("more")}));
  EXPECT_EQ(tf::native_csv(groups), "OP Name|Reason|Count\n"
                                    "Identity|text / on\\ntwo lines|2\n"
                                    "Identity|the graph's output|1\n"
                                    "ArgMax|operator ArgMax has no rule|1\n"
                                    "NoOp|operator NoOp has no rule|1\n"
                                    "Placeholder|operator Placeholder has no rule|1\n");
}

TEST(NativeReport, AConvertedGraphHasNone) {
  EXPECT_EQ(tf::native_line({}),
            "There are 0 ops of 0 different types in the graph that are not converted to TensorRT: .");
  EXPECT_EQ(tf::native_csv({}), "OP Name|Reason|Count\n");
}

} // namespace
} // namespace lanner::test
