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

/// y = x * v, after v was counted up; v is `first` when the model is loaded.
std::string counter(float first) {
  const saved_model_file::MetaGraphSpec spec{
      {placeholder("x", f32, {2}),
       node({"v", "VarHandleOp", {}, {type("dtype", f32), text("shared_name", "v")}}),
       floats("v/lanner_value", {2}, {first, first}),
       node({"v/lanner_assign", "AssignVariableOp", {"v", "v/lanner_value"}, {type("dtype", f32)}}),
       floats("one", {2}, {1, 1}), node({"count", "AssignAddVariableOp", {"v", "one"}, {type("dtype", f32)}}),
       node({"now", "ReadVariableOp", {"v", "^count"}, {type("dtype", f32)}}),
       node({"y", "Mul", {"x", "now"}, {type("T", f32)}})},
      {},
      {{"serving_default", {{{"x", {"x:0", f32, {2}}}}, {{"y", {"y:0", f32, {2}}}}}}}};
  return saved_model({spec});
}

TEST(ForeignNodes, AModelConvertedTwiceHasNoTwoNodesOfAName) {
  const TemporaryFolder folder;
  tf::ConvertOptions options = plain();
  options.minimum_segment_size = -1; // else the first output may be in an engine
  convert(counter(1), options).save(folder / "once");
  EXPECT_NE(bytes_of(folder / "once/saved_model.pb").find("lanner_output_0"), std::string::npos);
  tf::Model::convert(folder / "once", options).save(folder / "twice");
  EXPECT_NE(bytes_of(folder / "twice/saved_model.pb").find("lanner_output_0_"), std::string::npos);
  EXPECT_EQ(tf::Model::convert(folder / "twice", options).outputs().at(0).name, "y")
      << "a graph with two nodes of a name is refused";
}

/// The name by which TensorFlow shares the variable of a counter.
std::string shared_name(const std::filesystem::path& folder, float first) {
  convert(counter(first), plain()).save(folder);
  const std::string bytes = bytes_of(folder / "saved_model.pb"), key = "shared_name";
  const std::size_t place = bytes.find(key);
  // Behind the key: the value's number and size, in it those of the text, which is v/ and 32 digits.
  return place == std::string::npos ? std::string() : bytes.substr(place + key.size() + 4, 34);
}

TEST(ForeignNodes, DifferentModelsShareNoVariables) {
  const TemporaryFolder folder;
  const std::string one = shared_name(folder / "one", 1);
  EXPECT_EQ(one.substr(0, 2), "v/");
  EXPECT_EQ(one, shared_name(folder / "again", 1));
  EXPECT_NE(one, shared_name(folder / "two", 2));
}

/// y = x * before + after, where `before` reads v and then v is counted up by |x|, which waits for the read
/// by a control edge of its own.
std::string counted_between(bool by_reference) {
  const std::string variable = by_reference ? "VariableV2" : "VarHandleOp";
  const auto read = [&](const std::string& name, const std::vector<std::string>& inputs) {
    return by_reference ? node({name, "Identity", inputs, {type("T", f32)}})
                        : node({name, "ReadVariableOp", inputs, {type("dtype", f32)}});
  };
  const auto write = [&](const std::string& name, const std::string& op, const std::string& value) {
    return by_reference ? node({name, op, {"v", value}, {type("T", f32)}})
                        : node({name, op + "VariableOp", {"v", value}, {type("dtype", f32)}});
  };
  const saved_model_file::MetaGraphSpec spec{
      {placeholder("x", f32, {2}), node({"v", variable, {}, {type("dtype", f32), text("shared_name", "")}}),
       floats("v/lanner_value", {2}, {1, 1}), write("v/lanner_assign", "Assign", "v/lanner_value"),
       read("before", {"v"}), node({"size", "Abs", {"x", "^before"}, {type("T", f32)}}),
       write("count", "AssignAdd", "size"), read("after", {"v", "^count"}),
       node({"product", "Mul", {"x", "before"}, {type("T", f32)}}),
       node({"y", "Add", {"product", "after"}, {type("T", f32)}})},
      {},
      {{"serving_default", {{{"x", {"x:0", f32, {2}}}}, {{"y", {"y:0", f32, {2}}}}}}}};
  return saved_model({spec});
}

TEST(ForeignNodes, AWriteWaitsForReadsThatItsValueWaitsFor) {
  for (const bool by_reference : {false, true}) {
    const tf::Model model = convert(counted_between(by_reference), plain());
    EXPECT_EQ(node_named(model, "size").engine.empty(), false);
    EXPECT_EQ(node_named(model, "after").engine, "") << "what it gives depends on when it runs";
    const TemporaryFolder folder;
    model.save(folder / "out");
    const std::string bytes = bytes_of(folder / "out/saved_model.pb");
    EXPECT_NE(bytes.find("^before"), std::string::npos) << by_reference;
    EXPECT_NE(bytes.find("^count"), std::string::npos) << by_reference;
    EXPECT_EQ(bytes.find("Snapshot") != std::string::npos, by_reference) << "a copy of the variable's memory";
    EXPECT_EQ(bytes.find("v/") != bytes.find("v/lanner"), !by_reference)
        << "without a name a variable of TensorFlow 1 is each import's own";
  }
}

TEST(ForeignNodes, AConditionalThatWritesAVariableRunsThoughNothingReadsIt) {
  saved_model_file::MetaGraphSpec spec{
      {placeholder("x", f32, {2}), placeholder("p", boolean, {}),
       node({"v", "VarHandleOp", {}, {type("dtype", f32), text("shared_name", "v")}}),
       floats("v/lanner_value", {2}, {1, 1}),
       node({"v/lanner_assign", "AssignVariableOp", {"v", "v/lanner_value"}, {type("dtype", f32)}}),
       node({"choose",
             "If",
             {"p", "v", "x"},
             {type("Tcond", boolean), types("Tin", {20, f32}), types("Tout", {f32}),
              function("then_branch", "counts"), function("else_branch", "passes")}}),
       node({"y", "Mul", {"x", "x", "^choose"}, {type("T", f32)}})},
      {function_definition({"counts",
                            {"handle", "a"},
                            {"b"},
                            {"copy:output:0"},
                            {node({"count", "AssignAddVariableOp", {"handle", "a"}, {type("dtype", f32)}}),
                             node({"copy", "Identity", {"a", "^count"}, {type("T", f32)}})}}),
       function_definition({"passes",
                            {"handle", "a"},
                            {"b"},
                            {"copy:output:0"},
                            {node({"copy", "Identity", {"a"}, {type("T", f32)}})}})},
      {{"serving_default",
        {{{"x", {"x:0", f32, {2}}}, {"p", {"p:0", boolean, {}}}}, {{"y", {"y:0", f32, {2}}}}}}}};
  const tf::Model model = convert(saved_model({spec}), plain());
  EXPECT_FALSE(node_named(model, "y").engine.empty());
  EXPECT_EQ(node_named(model, "choose").code, "not_converted");
  const TemporaryFolder folder;
  model.save(folder / "out");
  EXPECT_NE(bytes_of(folder / "out/saved_model.pb").find("^choose"), std::string::npos)
      << "the output waits for it";
}

/// A table whose entries are in the asset words.txt.
std::string with_asset() {
  saved_model_file::MetaGraphSpec spec{
      {placeholder("k", i64, {-1}), constant("path", tensor(7, {}).bytes(8, "words.txt")),
       constant("none", tensor(i64, {}).bytes(4, std::string(8, '\0'))),
       node({"table", "HashTableV2", {}, {type("key_dtype", i64), type("value_dtype", i64)}}),
       node({"init", "InitializeTableFromTextFileV2", {"table", "path"}, {}}),
       node({"find", "LookupTableFindV2", {"table", "k", "none"}, {type("Tin", i64), type("Tout", i64)}})},
      {},
      {{"serving_default", {{{"k", {"k:0", i64, {-1}}}}, {{"y", {"find:0", i64, {-1}}}}}}}};
  const Message asset = Message().message(1, Message().bytes(1, "path:0")).bytes(2, "words.txt");
  return Message().integer(1, 1).message(2, saved_model_file::meta_graph(spec).message(6, asset)).data;
}

TEST(ForeignNodes, AssetsAreCopiedAndLinksAreRefused) {
  const TemporaryFolder folder;
  for (const char* model : {"plain", "file", "folder"})
    folder.write(std::string(model) + "/saved_model.pb", with_asset());
  folder.write("plain/assets/words.txt", "one\ntwo\n");
  folder.write("elsewhere/words.txt", "secret");
  std::filesystem::create_directories(folder / "file/assets");
  std::filesystem::create_symlink(folder / "elsewhere/words.txt", folder / "file/assets/words.txt");
  std::filesystem::create_directory_symlink(folder / "elsewhere", folder / "folder/assets");
  tf::Model::convert(folder / "plain", plain()).save(folder / "out");
  EXPECT_EQ(bytes_of(folder / "out/assets/words.txt"), "one\ntwo\n");
  for (const char* model : {"file", "folder"}) {
    const tf::Model linked = tf::Model::convert(folder / model, plain());
    const std::filesystem::path out = folder / (std::string(model) + "_out");
    LANNER_EXPECT_ERROR(linked.save(out), ErrorCode::bad_data, "symbolic link");
    EXPECT_FALSE(std::filesystem::exists(out / "assets"));
  }
}

/// With a bound on time that work that grows with the square of the file's size would exceed.
tf::ConvertOptions bounded() {
  tf::ConvertOptions options = plain();
  options.build.limits.seconds = 60;
  return options;
}

TEST(ForeignNodes, ALongChainOfFunctionsIsRefusedByItsDepth) {
  constexpr int count = 20000;
  std::vector<Message> functions;
  for (int i = 0; i < count; ++i)
    functions.push_back(
        function_definition({"f" + std::to_string(i),
                             {"a", "handle"},
                             {"b"},
                             {"next:b:0"},
                             {node({"next", "f" + std::to_string(i + 1), {"a", "handle"}, {}})}}));
  functions.push_back(
      function_definition({"f" + std::to_string(count),
                           {"a", "handle"},
                           {"b"},
                           {"copy:output:0"},
                           {node({"count", "AssignAddVariableOp", {"handle", "a"}, {type("dtype", f32)}}),
                            node({"copy", "Identity", {"a", "^count"}, {type("T", f32)}})}}));
  const saved_model_file::MetaGraphSpec spec{
      {placeholder("x", f32, {2}), node({"v", "VarHandleOp", {}, {type("dtype", f32)}}),
       floats("v/lanner_value", {2}, {1, 1}),
       node({"v/lanner_assign", "AssignVariableOp", {"v", "v/lanner_value"}, {type("dtype", f32)}}),
       node({"y", "f0", {"x", "v"}, {}})},
      functions,
      {{"serving_default", {{{"x", {"x:0", f32, {2}}}}, {{"y", {"y:0", f32, {2}}}}}}}};
  const std::string file = saved_model({spec});
  LANNER_EXPECT_ERROR(convert(file, bounded()), ErrorCode::limit_exceeded, "calls are nested");
}

TEST(ForeignNodes, ManyTablesThatNothingReadsAreLeftOut) {
  std::vector<Message> nodes{placeholder("x", f32, {2}), node({"y", "Neg", {"x"}, {type("T", f32)}}),
                             integers("keys", {1, 2}), integers("values", {3, 4})};
  for (int i = 0; i < 20000; ++i) {
    const std::string table = "t" + std::to_string(i);
    nodes.push_back(node({table, "HashTableV2", {}, {type("key_dtype", i32), type("value_dtype", i32)}}));
    nodes.push_back(node({"init_" + table, "InitializeTableV2", {table, "keys", "values"}, {}}));
  }
  tf::ConvertOptions options = bounded();
  options.build.outputs = {"y"};
  EXPECT_EQ(convert(graph_def(nodes), options).needs_tensorflow(), "");
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
