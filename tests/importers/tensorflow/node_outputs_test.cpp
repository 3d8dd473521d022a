// Names and types of results.

#include "importers/tensorflow/node_outputs.h"

#include <gtest/gtest.h>

#include "importers/tensorflow/rules/rules.h"

namespace lanner::test {
namespace {

ImportNode node_of(const char* op) {
  ImportNode node;
  node.name = node.op = op;
  return node;
}

void set(ImportNode& node, const char* name, ImportAttribute::Value value) {
  node.attributes[name] = {std::move(value), {}, 0};
}

TEST(NodeOutputs, EveryOperatorWithARuleIsKnown) {
  for (const auto& [name, rule] : tensorflow::operator_rules()) {
    if (rule.refused) continue;
    EXPECT_TRUE(tensorflow::knows_results(name))
        << name << ": run tests/python/tensorflow/operator_results.py";
  }
}

TEST(NodeOutputs, TypesAreOfTheAttributeAFixedNumberOrTheDefault) {
  ImportNode node = node_of("TopKV2");
  set(node, "T", std::int64_t{19});
  EXPECT_EQ(tensorflow::output_type(node, 0), 19);
  EXPECT_EQ(tensorflow::output_type(node, 1), 3) << "index_type is left out where it is i32";
  EXPECT_EQ(tensorflow::output_type(node, 2), std::nullopt);
  EXPECT_EQ(tensorflow::output_type(node_of("Shape"), 0), 3);
  EXPECT_EQ(tensorflow::output_type(node_of("Shape"), 1), std::nullopt);
}

TEST(NodeOutputs, ListsHaveTheLengthOfAnAttribute) {
  ImportNode node = node_of("IdentityN");
  set(node, "T", std::vector<std::int64_t>{1, 20});
  EXPECT_EQ(tensorflow::output_type(node, 1), 20);
  ImportNode split = node_of("Split");
  set(split, "T", std::int64_t{1});
  set(split, "num_split", std::int64_t{3});
  const auto arguments = tensorflow::output_arguments(split);
  ASSERT_EQ(arguments.size(), 1u);
  EXPECT_EQ(arguments[0].name, "output");
  EXPECT_EQ(arguments[0].count, 3);
}

TEST(NodeOutputs, UnknownOperatorsAreDescribedByTheModelOrGuessed) {
  ImportNode node = node_of("MyBoth");
  set(node, "dtype", std::int64_t{9});
  EXPECT_EQ(tensorflow::output_type(node, 0), 9) << "the usual attribute";
  set(node, tensorflow::results_attribute, std::vector<std::string>{"a=20", "b*N=U|2"});
  set(node, "N", std::int64_t{2});
  EXPECT_EQ(tensorflow::output_type(node, 0), 20);
  EXPECT_EQ(tensorflow::output_type(node, 2), 2) << "the default of an attribute that is not there";
  EXPECT_EQ(tensorflow::output_type(node, 3), std::nullopt);
}

} // namespace
} // namespace lanner::test
