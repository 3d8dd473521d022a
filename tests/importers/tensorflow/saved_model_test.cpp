// SavedModels, MetaGraphs and models that TF-TRT converted: signatures, variables, harmful files.

#include <gtest/gtest.h>

#include "expect_error.h"
#include "importers/importer.h"
#include "importers/importing.h"
#include "importers/tensorflow/bundle_file.h"
#include "importers/tensorflow/saved_model_file.h"
#include "ops/interpreter/interpreter.h"
#include "ops/node_run.h"
#include "ops/table/table.h"
#include "temporary_folder.h"

namespace lanner::test {
namespace {

using namespace graph_def_file;
using namespace saved_model_file;

using Dims64 = std::vector<std::int64_t>;

std::unique_ptr<Graph> read(std::string_view file, const TensorFlowOptions& chosen,
                            const std::filesystem::path& folder = {},
                            const std::vector<std::string>& outputs = {}) {
  ImportOptions options{builtin_op_table(), folder, {}};
  options.tensorflow = chosen;
  options.outputs = outputs;
  return import_model(open_bytes(std::as_bytes(std::span(file)), nullptr, (folder / "model.meta").string()),
                      options);
}

TensorFlowOptions signature(std::string name) {
  TensorFlowOptions options;
  options.signature = std::move(name);
  return options;
}

TensorFlowOptions tags(std::vector<std::string> wanted) {
  TensorFlowOptions options;
  options.tags = std::move(wanted);
  return options;
}

Message variable(std::string_view name, const Dims64& dims) {
  Message shape;
  for (const std::int64_t dim : dims) shape.message(2, Message().integer(1, dim));
  return node(
      {std::string(name),
       "VarHandleOp",
       {},
       {type("dtype", f32), text("shared_name", name), attribute("shape", Message().message(7, shape))}});
}

Message strings(std::string_view name, const std::vector<std::string>& values) {
  Message held = tensor(7, {static_cast<std::int64_t>(values.size())});
  for (const std::string& value : values) held.bytes(8, value);
  return constant(name, held);
}

/// y = x * w + b by a function, w and b variables that a second function restores: w from its own name, b
/// from `stored/b`.
MetaGraphSpec with_variables() {
  MetaGraphSpec spec;
  spec.nodes = {placeholder("serving_default_x", f32, {-1, 2}),
                variable("w", {2}),
                variable("b", {2}),
                strings("file", {"model"}),
                node({"call",
                      "StatefulPartitionedCall",
                      {"serving_default_x", "w", "b"},
                      {function("f", "serve"), types("Tout", {f32})}}),
                node({"restore", "StatefulPartitionedCall", {"file", "w", "b"}, {function("f", "restore")}})};
  spec.functions = {
      function_definition({"serve",
                           {"x", "weight", "bias"},
                           {"out"},
                           {"sum:z:0"},
                           {node({"w", "ReadVariableOp", {"weight"}, {type("dtype", f32)}}),
                            node({"b", "ReadVariableOp", {"bias"}, {type("dtype", f32)}}),
                            node({"product", "Mul", {"x", "w:value:0"}, {type("T", f32)}}),
                            node({"sum", "AddV2", {"product:z:0", "b:value:0"}, {type("T", f32)}})}}),
      function_definition({"restore",
                           {"prefix", "first", "second"},
                           {},
                           {},
                           {strings("names", {"w", "stored/b"}), strings("slices", {"", ""}),
                            node({"RestoreV2", "RestoreV2", {"prefix", "names:output:0", "slices:output:0"}}),
                            node({"Identity", "Identity", {"RestoreV2:tensors:0"}}),
                            node({"Identity_1", "Identity", {"RestoreV2:tensors:1"}}),
                            node({"assign", "AssignVariableOp", {"first", "Identity:output:0"}}),
                            node({"assign_1", "AssignVariableOp", {"second", "Identity_1:output:0"}})}})};
  spec.signatures["serving_default"] = {{{"x", {"serving_default_x:0", f32, {-1, 2}}}},
                                        {{"y", {"call:0", f32, {-1, 2}}}}};
  return spec;
}

bundle_file::Checkpoint checkpoint() {
  bundle_file::Checkpoint made;
  made.add("w", f32, {2}, bundle_file::bytes_of<float>({2, 3}));
  made.add("stored/b", f32, {2}, bundle_file::bytes_of<float>({10, 20}));
  return made;
}

/// y = x + c, and another signature that doubles.
MetaGraphSpec two_signatures() {
  MetaGraphSpec spec;
  spec.nodes = {placeholder("a", f32, {2}), placeholder("b", f32, {2}), floats("c", {2}, {1, 2}),
                node({"sum", "AddV2", {"a", "c"}}), node({"twice", "AddV2", {"b", "b"}})};
  spec.signatures["add"] = {{{"x", {"a:0", f32, {2}}}}, {{"y", {"sum:0", f32, {2}}}}};
  spec.signatures["double"] = {{{"x", {"b:0", f32, {2}}}}, {{"y", {"twice:0", f32, {2}}}}};
  return spec;
}

std::string run(const Graph& graph, std::vector<float> x, const Dims64& dims) {
  const std::vector<Item> items{Tensor::from<float>(x, Shape(dims))};
  return show(run_reference(graph, items).at(0));
}

TEST(SavedModel, VariablesComeFromTheTensorsThatTheRestoringFunctionNames) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "variables");
  checkpoint().write(folder / "variables", "variables");
  const auto graph = read(saved_model({with_variables()}), {}, folder.path());
  EXPECT_EQ(graph->body().parameter(0)->name(), "x");
  EXPECT_EQ(graph->output_names()[0], "y");
  EXPECT_EQ(run(*graph, {1, 1, 2, 2}, {2, 2}), "f32[2, 2](12, 23, 14, 26)");
}

TEST(SavedModel, VariablesThatCannotBeReadAreNamed) {
  const TemporaryFolder folder;
  const std::string file = saved_model({with_variables()});
  LANNER_EXPECT_ERROR(read(file, {}), ErrorCode::unsupported, "build it from its path, not from its bytes");
  LANNER_EXPECT_ERROR(read(file, {}, folder.path()), ErrorCode::not_found, "a checkpoint is named by");
  std::filesystem::create_directories(folder / "variables");
  bundle_file::Checkpoint wrong;
  wrong.add("w", f32, {2}, bundle_file::bytes_of<float>({2, 3}));
  wrong.add("stored/b", f32, {3}, bundle_file::bytes_of<float>({10, 20, 30}));
  wrong.write(folder / "variables", "variables");
  LANNER_EXPECT_ERROR(read(file, {}, folder.path()), ErrorCode::bad_data, "variable b: it is declared");
}

TEST(SavedModel, ASignatureIsChosenByName) {
  const std::string file = saved_model({two_signatures()});
  EXPECT_EQ(run(*read(file, signature("add")), {1, 1}, {2}), "f32[2](2, 3)");
  EXPECT_EQ(run(*read(file, signature("double")), {1, 3}, {2}), "f32[2](2, 6)");
  LANNER_EXPECT_ERROR(read(file, {}), ErrorCode::invalid_argument, "name one: add, double");
  LANNER_EXPECT_ERROR(read(file, signature("doubel")), ErrorCode::not_found, "did you mean double");
}

TEST(SavedModel, AGraphIsChosenByItsTags) {
  MetaGraphSpec other = two_signatures();
  other.signatures.erase("add");
  other.tags = {"serve", "gpu"};
  MetaGraphSpec plain = two_signatures();
  plain.signatures.erase("double");
  const std::string file = saved_model({other, plain});
  EXPECT_EQ(run(*read(file, {}), {1, 1}, {2}), "f32[2](2, 3)") << "serve alone is the default";
  EXPECT_EQ(run(*read(file, tags({"gpu", "serve"})), {1, 1}, {2}), "f32[2](2, 2)");
  LANNER_EXPECT_ERROR(read(file, tags({"tpu"})), ErrorCode::not_found, "{serve, gpu}, {serve}");
}

TEST(SavedModel, AnInputInsideOfTheGraphCutsOffWhatMakesIt) {
  MetaGraphSpec spec = two_signatures();
  spec.signatures = {{"add", {{{"given", {"sum:0", f32, {2}}}}, {{"y", {"last:0", f32, {2}}}}}}};
  spec.nodes.push_back(node({"last", "Neg", {"sum"}}));
  const auto graph = read(saved_model({spec}), {});
  EXPECT_EQ(graph->body().parameter(0)->name(), "given");
  EXPECT_EQ(run(*graph, {1, 3}, {2}), "f32[2](-1, -3)");
}

TEST(SavedModel, AFunctionThatWritesAVariableIsRefused) {
  MetaGraphSpec spec = with_variables();
  Message writes = function_definition(
      {"serve",
       {"x", "weight", "bias"},
       {"out"},
       {"copy:output:0"},
       {node({"copy", "Identity", {"x"}}), node({"count", "AssignAddVariableOp", {"weight", "x"}})}});
  writes.message(6, Message().bytes(1, "count").bytes(2, "count"));
  spec.functions[0] = writes;
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "variables");
  checkpoint().write(folder / "variables", "variables");
  LANNER_EXPECT_ERROR(read(saved_model({spec}), {}, folder.path()), ErrorCode::unsupported,
                      "it writes a variable in each run");
}

TEST(SavedModel, AGraphThatWritesAVariableBeforeItsResultIsRefused) {
  MetaGraphSpec spec = with_variables();
  spec.nodes[4] = node({"call",
                        "StatefulPartitionedCall",
                        {"serving_default_x", "w", "b", "^count"},
                        {function("f", "serve"), types("Tout", {f32})}});
  spec.nodes.push_back(floats("one", {2}, {1, 1}));
  spec.nodes.push_back(node({"count", "AssignAddVariableOp", {"w", "one"}, {type("dtype", f32)}}));
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "variables");
  checkpoint().write(folder / "variables", "variables");
  LANNER_EXPECT_ERROR(read(saved_model({spec}), {}, folder.path()), ErrorCode::unsupported,
                      "it writes a variable in each run");
}

TEST(SavedModel, HarmfulOnesAreRefusedInALine) {
  MetaGraphSpec spec = two_signatures();
  spec.signatures = {{"add", {{{"x", {"nowhere:0", f32, {2}}}}, {{"y", {"sum:0", f32, {2}}}}}}};
  EXPECT_NE(outcome(saved_model({spec})).find("the graph has no node 'nowhere'"), std::string::npos);
  spec.signatures = {{"add", {{{"x", {"", f32, {2}}}}, {{"y", {"sum:0", f32, {2}}}}}}};
  EXPECT_NE(outcome(saved_model({spec})).find("composite tensor"), std::string::npos);
  spec.signatures = {{"add", {{}, {{"y", {"sum:0", f32, {2}}}}}}};
  EXPECT_NE(outcome(saved_model({spec})).find("y"), std::string::npos);
  spec.signatures.clear();
  EXPECT_NE(outcome(saved_model({spec})).find("no signature with outputs"), std::string::npos);
  const std::string whole = saved_model({two_signatures()});
  for (std::size_t size = 1; size < whole.size(); ++size) outcome(whole.substr(0, size));
}

TEST(MetaGraph, VariablesAreInTheCheckpointOfItsName) {
  const TemporaryFolder folder;
  checkpoint().write(folder.path(), "model");
  MetaGraphSpec spec = with_variables();
  spec.signatures.clear();
  const std::string file = meta_graph(spec).data;
  EXPECT_EQ(run(*read(file, {}, folder.path(), {"call"}), {1, 1}, {1, 2}), "f32[1, 2](12, 23)");
  LANNER_EXPECT_ERROR(read(file, {}, folder.path()), ErrorCode::invalid_argument, "name them as outputs");
}

/// x -> TRTEngineOp -> y, with these attributes of the node.
std::string converted(const std::vector<Message>& attributes, const std::vector<Message>& functions = {}) {
  std::vector<Message> all = attributes;
  all.push_back(types("InT", {f32}));
  all.push_back(types("OutT", {f32}));
  return graph_def({placeholder("x", f32, {2}), node({"TRTEngineOp_0", "TRTEngineOp", {"x"}, all}),
                    node({"y", "Identity", {"TRTEngineOp_0"}})},
                   functions);
}

std::vector<Message> native_segment(const std::string& name) {
  return {function_definition({name,
                               {"tensorrtinputph_0"},
                               {"tensorrtoutputph_0"},
                               {"negative:y:0"},
                               {node({"negative", "Neg", {"tensorrtinputph_0"}, {type("T", f32)}})}})};
}

std::string segment_graph_def() {
  return graph_def({placeholder("TensorRTInputPH_0", f32, {2}),
                    node({"negative", "Neg", {"TensorRTInputPH_0"}}),
                    node({"TensorRTOutputPH_0", "Identity", {"negative"}})});
}

TEST(TrtEngineOp, ItsNativeSegmentIsReadInAllFormsOfTheReleases) {
  const std::vector<Tensor> x{Tensor::from<float>(std::vector<float>{1, 2}, {2})};
  const char* expected = "f32[2](-1, -2)";
  EXPECT_EQ(result(converted({function("segment_func", "f")}, native_segment("f")), x), expected);
  EXPECT_EQ(result(converted({text("segment_funcdef_name", "g"), text("serialized_segment", "ftrt")},
                             native_segment("g")),
                   x),
            expected);
  EXPECT_EQ(result(converted({}, native_segment("TRTEngineOp_0_native_segment")), x), expected);
  EXPECT_EQ(
      result(converted({text("serialized_segment", segment_graph_def()), flag("static_engine", false)}), x),
      expected);
}

TEST(TrtEngineOp, AnEngineOfTensorRtAloneIsNamed) {
  const char* expected = "has only an engine of TensorRT";
  EXPECT_NE(outcome(converted({})).find(expected), std::string::npos);
  EXPECT_NE(
      outcome(converted({text("serialized_segment", "ftrt"), flag("static_engine", true)})).find(expected),
      std::string::npos);
}

} // namespace
} // namespace lanner::test
