#include <algorithm>

#include <gtest/gtest.h>

#include "expect_error.h"
#include "importers/importing.h"
#include "importers/onnx_file.h"
#include "ops/node_run.h"
#include "source_dir.h"
#include "temporary_folder.h"

#include <lanner/source.h>

#include "importers/importer.h"
#include "ops/table/table.h"

namespace lanner::test {
namespace {

using namespace onnx_file;

Message one_node(const onnx_file::NodeSpec& spec, std::vector<Message> inputs,
                 std::vector<Message> constants = {}) {
  std::vector<Message> outputs;
  for (const std::string& name : spec.outputs) outputs.push_back(value(name, f32, {}));
  return graph({.nodes = {node(spec)},
                .inputs = std::move(inputs),
                .outputs = std::move(outputs),
                .constants = std::move(constants)});
}

TEST(OnnxImporter, ModelBecomesGraph) {
  const std::string text = outcome(model(one_node(
      {"Add", {"x", "w"}, {"y"}, {}, "", "sum"}, {value("x", f32, {"N", "2"})}, {floats("w", {2}, {1, 2})})));
  EXPECT_NE(text.find("graph @g(%x: f32[N, 2]) -> (%y: f32[N, 2] as \"y\")"), std::string::npos) << text;
  EXPECT_NE(text.find("%w: f32[2] = constant() {value = f32[2](1.0, 2.0), weight = \"w\"}"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("= add(%x, %w) source(\"sum\")"), std::string::npos) << text;
  EXPECT_NE(text.find("meta \"producer\" = \"lanner-tests\""), std::string::npos) << text;
}

TEST(OnnxImporter, OpenDimsGetFreshSymbols) {
  const std::string text =
      outcome(model(one_node({"Relu", {"a b"}, {"y"}}, {value("a b", f32, {"?", "batch size", "?"})})));
  EXPECT_NE(text.find("%\"a b\": f32[a_b_0, batch_size, a_b_2]"), std::string::npos) << text;
}

TEST(OnnxImporter, ConstantsListedAsInputsAreNotInputs) {
  const Message g = one_node({"Add", {"x", "w"}, {"y"}}, {value("x", f32, {"2"}), value("w", f32, {"2"})},
                             {floats("w", {2}, {1, 2})});
  EXPECT_EQ(imported(model(g))->body().parameters().size(), 1u);
}

TEST(OnnxImporter, NodesInAnyOrder) {
  const Message g = graph({.nodes = {node({"Neg", {"a"}, {"y"}}), node({"Exp", {"x"}, {"a"}})},
                           .inputs = {value("x", f32, {"1"})},
                           .outputs = {value("y", f32, {"1"})}});
  EXPECT_EQ(result(model(g), {f32s({0})}), "f32[1](-1)");
}

TEST(OnnxImporter, FunctionsTakeAttributesAndSubgraphsCapture) {
  const std::string file = varied_model();
  EXPECT_EQ(result(file, {f32s({1, 2}), bools({1}, {})}), "f32[1, 2](3, 6)");
  EXPECT_EQ(result(file, {f32s({1, 2}), bools({0}, {})}), "f32[1, 2](1, 2)");
}

TEST(OnnxImporter, FunctionInputsMayBeLeftOut) {
  const Message clip = function({.name = "Limited",
                                 .inputs = {"x", "low", "high"},
                                 .outputs = {"y"},
                                 .attributes = {},
                                 .nodes = {node({"Clip", {"x", "low", "high"}, {"y"}})}});
  const Message g = graph({.nodes = {node({"Limited", {"x", "", "w"}, {"y"}, {}, "own"})},
                           .inputs = {value("x", f32, {"3"})},
                           .outputs = {value("y", f32, {"3"})},
                           .constants = {floats("w", {}, {1})}});
  EXPECT_EQ(result(model(g, 21, {clip}), {f32s({-5, 0, 5})}), "f32[3](-5, 0, 1)");
}

TEST(OnnxImporter, SubgraphNamesShadowOuterNames) {
  // The branch's inner `t` is not the one outside, which depends on the branch's result.
  const Message branch =
      graph({.nodes = {node({"Neg", {"x"}, {"t"}})}, .inputs = {}, .outputs = {value("t", f32, {})}});
  const Message g = graph(
      {.nodes = {node({"Exp", {"r"}, {"t"}}),
                 node({"If",
                       {"c"},
                       {"r"},
                       {graph_attribute("then_branch", branch), graph_attribute("else_branch", branch)}})},
       .inputs = {value("x", f32, {"1"}), value("c", boolean, {})},
       .outputs = {value("t", f32, {"1"})}});
  EXPECT_EQ(result(model(g), {f32s({0}), bools({1}, {})}), "f32[1](1)");
}

TEST(OnnxImporter, DataOfEveryKind) {
  const auto constant = [](const Message& tensor, const char* type) {
    const std::string text =
        outcome(model(one_node({"Constant", {}, {"y"}, {tensor_attribute("value", tensor)}}, {})));
    EXPECT_NE(text.find(std::string("constant() {value = ") + type), std::string::npos) << text;
  };
  constant(tensor("", f32, {2}).real(4, 1).real(4, -2), "f32[2](1.0, -2.0)");
  constant(tensor("", 10, {1}).packed(5, {0x3c00}), "f16[1](hex 003c)");
  constant(tensor("", 16, {1}).packed(5, {0x3f80}), "bf16[1](hex 803f)");
  constant(tensor("", boolean, {2}).packed(5, {1, 0}), "bool[2](true, false)");
  constant(tensor("", 22, {3}).packed(5, {0x21, 0x0f}), "i4[3](hex 210f)");
  constant(tensor("", text, {2}).bytes(6, "a").bytes(6, "b"), "string[2](\"a\", \"b\")");
  constant(tensor("", i64, {}).integer(7, -3), "i64[](-3)");
}

TEST(OnnxImporter, SparseConstantsBecomeDense) {
  const Message sparse = Message()
                             .message(1, floats("", {2}, {5, 7}))
                             .message(2, integers("", {2, 2}, {0, 1, 1, 0}))
                             .packed(3, {2, 2});
  const Message attribute = Message().bytes(1, "sparse_value").message(22, sparse).integer(20, 11);
  EXPECT_EQ(result(model(one_node({"Constant", {}, {"y"}, {attribute}}, {})), {}), "f32[2, 2](0, 5, 7, 0)");
}

TEST(OnnxImporter, PipesAreReadOnce) {
  const std::string file = varied_model();
  const auto read = [&](std::uint64_t offset, std::span<std::byte> into) -> std::size_t {
    const std::string_view rest =
        std::string_view(file).substr(std::min<std::size_t>(offset, file.size()), into.size());
    std::copy_n(reinterpret_cast<const std::byte*>(rest.data()), rest.size(), into.begin());
    return rest.size();
  };
  EXPECT_EQ(import_model(open_callback(read, -1, false), {builtin_op_table(), {}, {}})->output_names().size(),
            1u);
}

TEST(OnnxImporter, ReadsExternalData) {
  const TemporaryFolder folder;
  const float values[] = {9, 1, 2, 9};
  folder.write("data/w.bin", {reinterpret_cast<const char*>(values), sizeof values});
  EXPECT_EQ(result(varied_model("data/w.bin"), {f32s({1, 2}), bools({1}, {})}, folder.path()),
            "f32[1, 2](3, 6)");
}

TEST(OnnxImporter, EveryUnknownOperatorIsNamed) {
  const Message g = graph({.nodes = {node({"Frobnicate", {"x"}, {"a"}, {}, "", "first"}),
                                     node({"Fold", {"a"}, {"y"}, {}, "strange.domain"})},
                           .inputs = {value("x", f32, {})},
                           .outputs = {value("y", f32, {})}});
  LANNER_EXPECT_ERROR(imported(model(g)), ErrorCode::unsupported,
                      "Frobnicate (first); strange.domain.Fold (y)");
}

TEST(OnnxImporter, RealModels) {
  const std::filesystem::path models = shared_data_dir() / "models";
  if (!std::filesystem::exists(models)) GTEST_SKIP() << "no real models at ../shared/data";
  for (const char* name : {"mnist.onnx", "squeezenet_fp16.onnx"}) {
    SCOPED_TRACE(name);
    const auto graph = import_model(open_path(models / name), {builtin_op_table(), models, {}});
    ASSERT_EQ(graph->body().outputs().size(), 1u);
    const Type& type = graph->body().outputs()[0]->type;
    EXPECT_TRUE(type.ranked()) << type.to_string();
    EXPECT_EQ(type.dims().at(1), Dim(std::string_view(name) == "mnist.onnx" ? 10 : 1000)) << type.to_string();
  }
}

TEST(OnnxImporter, ModelOfTheDemo) {
  const auto graph =
      import_model(open_path(source_dir() / "demo" / "shapes.onnx"), {builtin_op_table(), {}, {}});
  for (const Value* output : graph->body().outputs())
    EXPECT_TRUE(output->type.ranked()) << output->type.to_string();
}

} // namespace
} // namespace lanner::test
