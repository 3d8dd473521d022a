// Nodes that nothing here can run: they stay TensorFlow's in a converted model.

#include <lanner/tensorflow.h>

#include <algorithm>

#include <gtest/gtest.h>

#include "base/file/file.h"
#include "expect_error.h"
#include "importers/graph_def_file.h"
#include "importers/tensorflow/saved_model_file.h"
#include "temporary_folder.h"

namespace lanner::test {
namespace {

using namespace graph_def_file;
using saved_model_file::operator_definition;
using saved_model_file::saved_model;

tf::ConvertOptions plain() {
  tf::ConvertOptions options;
  options.build.budget = 0;
  options.build.threads = 1;
  options.minimum_segment_size = 1;
  return options;
}

tf::Model convert(const std::string& file, const tf::ConvertOptions& options) {
  const auto held = std::make_shared<const std::string>(file); // the model keeps views of it
  return tf::Model::convert(open_bytes(std::as_bytes(std::span(*held)), held), options);
}

/// x -> Relu -> NAME -> Neg -> Exp.
std::string around(const std::string& name) {
  return graph_def({placeholder("x", f32, {-1, 2}), node({"relu", "Relu", {"x"}, {type("T", f32)}}),
                    node({"odd", name, {"relu"}, {type("T", f32)}}),
                    node({"neg", "Neg", {"odd"}, {type("T", f32)}}),
                    node({"y", "Exp", {"neg"}, {type("T", f32)}})});
}

const tf::ConvertedNode& node_named(const tf::Model& model, std::string_view name) {
  return *std::ranges::find(model.nodes(), name, &tf::ConvertedNode::name);
}

std::string bytes_of(const std::filesystem::path& path) {
  const Content content = read_all(open_path(path));
  return {reinterpret_cast<const char*>(content.bytes.data()), content.bytes.size()};
}

TEST(ForeignNodes, StayNativeAndAreListed) {
  const tf::Model model = convert(around("Lgamma"), plain());
  EXPECT_NE(model.needs_tensorflow().find("Lgamma (odd): "), std::string::npos) << model.needs_tensorflow();
  EXPECT_FALSE(node_named(model, "relu").engine.empty());
  EXPECT_FALSE(node_named(model, "y").engine.empty());
  EXPECT_EQ(node_named(model, "odd").code, "not_converted");
  EXPECT_NE(model.native_line().find("There are 1 ops of 1 different types"), std::string::npos)
      << model.native_line();
  EXPECT_NE(model.native_csv().find("Lgamma|"), std::string::npos);
  EXPECT_NE(model.summary().find("inside TensorFlow alone"), std::string::npos);
  LANNER_EXPECT_ERROR(model.create_runner(), ErrorCode::unsupported, "Lgamma (odd)");
  LANNER_EXPECT_ERROR(model.build(std::map<std::string, Item>()), ErrorCode::unsupported, "Lgamma (odd)");
  EXPECT_EQ(convert(around("Tanh"), plain()).needs_tensorflow(), "");
}

TEST(ForeignNodes, AreAnErrorWhereTheModelMustRunHere) {
  tf::ConvertOptions options = plain();
  options.stand_alone = true;
  LANNER_EXPECT_ERROR(convert(around("Lgamma"), options), ErrorCode::unsupported, "Lgamma (odd)");
  EXPECT_EQ(convert(around("Tanh"), options).parts().size(), 1u);
}

TEST(ForeignNodes, ASavedModelWithSomeIsRefusedByTheList) {
  const TemporaryFolder folder;
  convert(around("Lgamma"), plain()).save(folder / "out");
  EXPECT_NE(bytes_of(folder / "out/saved_model.pb").find("Lgamma"), std::string::npos);
  LANNER_EXPECT_ERROR(tf::Model::load(folder / "out", plain()), ErrorCode::unsupported,
                      "without TensorFlow: Lgamma (odd)");
}

/// A function that calls an operator of the user's with a result of the node's type and a resource.
std::string of_user() {
  const Message inner =
      function_definition({"f",
                           {"a"},
                           {"b", "c"},
                           {"out:z:0", "count:output:0"},
                           {node({"both", "MyBoth", {"a"}, {type("U", f32)}}),
                            node({"out", "Neg", {"both:second:0"}, {type("T", f32)}}),
                            node({"held", "MyCount", {"both:handle:0"}, {}}),
                            node({"count", "Identity", {"held:count:0"}, {type("T", i32)}})}});
  saved_model_file::MetaGraphSpec spec{
      {placeholder("x", f32, {-1, 2}), node({"call", "PartitionedCall", {"x"}, {function("f", "f")}})},
      {inner},
      {{"serving_default",
        {{{"x", {"x:0", f32, {-1, 2}}}}, {{"y", {"call:0", f32, {}}}, {"n", {"call:1", i32, {}}}}}}}};
  spec.operators = {operator_definition("MyBoth", {{"handle", "20"}, {"second", "U"}}),
                    operator_definition("MyCount", {{"count", "3"}})};
  return saved_model({spec});
}

TEST(ForeignNodes, ResultsAreThoseOfTheModelsListOfOperators) {
  const tf::Model model = convert(of_user(), plain());
  EXPECT_FALSE(node_named(model, "call/out").engine.empty())
      << "it reads the second result, of the node's type";
  EXPECT_EQ(model.outputs()[0].name, "n");
  EXPECT_EQ(model.outputs()[0].dtype, DType::i32);
  EXPECT_EQ(node_named(model, "call/held").reason, "it reads call/both, which is a resource");
  const TemporaryFolder folder;
  model.save(folder / "out");
  const std::string bytes = bytes_of(folder / "out/saved_model.pb");
  EXPECT_NE(bytes.find("call/both:1"), std::string::npos) << "the engine reads it by its number";
}

TEST(ForeignNodes, AResultWithoutATypeKeepsItsReadersNative) {
  const std::string file = graph_def({placeholder("x", f32, {-1, 2}), node({"odd", "MyOdd", {"x"}, {}}),
                                      node({"neg", "Neg", {"odd"}, {type("T", f32)}}),
                                      node({"y", "Exp", {"neg"}, {type("T", f32)}})});
  const tf::Model model = convert(file, plain());
  EXPECT_NE(node_named(model, "neg")
                .reason.find("it reads odd, which is a result of MyOdd of a type that the "
                             "model does not say"),
            std::string::npos)
      << node_named(model, "neg").reason;
  EXPECT_FALSE(node_named(model, "y").engine.empty()) << "neg says its own type";
}

TEST(ForeignNodes, TwoResultsByNameOfAnUnknownOperatorAreAnError) {
  const Message inner =
      function_definition({"f",
                           {"a"},
                           {"b"},
                           {"out:z:0"},
                           {node({"both", "MyBoth", {"a"}, {}}),
                            node({"out", "Add", {"both:first:0", "both:second:0"}, {type("T", f32)}})}});
  const std::string file = graph_def({placeholder("x", f32, {2}), node({"y", "f", {"x"}, {}})}, {inner});
  LANNER_EXPECT_ERROR(convert(file, plain()), ErrorCode::unsupported,
                      "the order of its results 'first' and 'second' is not known");
}

TEST(ForeignNodes, OutputsOfAGraphDefPruneIt) {
  tf::ConvertOptions options = plain();
  options.build.outputs = {"relu"};
  const tf::Model model = convert(around("Lgamma"), options);
  EXPECT_EQ(model.needs_tensorflow(), "");
  EXPECT_EQ(model.outputs().size(), 1u);
  EXPECT_EQ(model.outputs()[0].name, "relu");
  options.build.outputs = {"absent"};
  LANNER_EXPECT_ERROR(convert(around("Tanh"), options), ErrorCode::not_found, "absent");
}

} // namespace
} // namespace lanner::test
