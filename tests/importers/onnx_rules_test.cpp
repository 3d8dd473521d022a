// Operators of old versions, checked by the results of their conversion.

#include <gtest/gtest.h>

#include "expect_error.h"
#include "importers/importing.h"
#include "importers/onnx_file.h"
#include "ops/node_run.h"

namespace lanner::test {
namespace {

using namespace onnx_file;

/// A model of one node on inputs `x`, `x1`, ... of those shapes.
std::string of_node(std::int64_t version, const onnx_file::NodeSpec& spec,
                    const std::vector<std::vector<std::string>>& shapes,
                    std::vector<Message> constants = {}) {
  std::vector<Message> inputs, outputs;
  for (const auto& dims : shapes)
    inputs.push_back(value(inputs.empty() ? "x" : "x" + std::to_string(inputs.size()), f32, dims));
  for (const std::string& name : spec.outputs) outputs.push_back(value(name, f32, {}));
  return model(graph({.nodes = {node(spec)},
                      .inputs = std::move(inputs),
                      .outputs = std::move(outputs),
                      .constants = std::move(constants)}),
               version);
}

std::vector<std::int64_t> list(std::initializer_list<std::int64_t> values) {
  return values;
}

TEST(OnnxRules, BroadcastAlongAnAxisBeforeVersion7) {
  const std::string file = of_node(
      6, {"Add", {"x", "x1"}, {"y"}, {attribute("broadcast", 1), attribute("axis", 0)}}, {{"2", "2"}, {"2"}});
  EXPECT_EQ(result(file, {f32s({1, 2, 3, 4}, {2, 2}), f32s({10, 20})}), "f32[2, 2](11, 12, 23, 24)");
}

TEST(OnnxRules, SoftmaxBeforeVersion13SeesAMatrix) {
  const std::string file = of_node(11, {"Softmax", {"x"}, {"y"}, {attribute("axis", 1)}}, {{"1", "2", "2"}});
  EXPECT_EQ(result(file, {f32s({0, 0, 0, 0}, {1, 2, 2})}), "f32[1, 2, 2](0.25, 0.25, 0.25, 0.25)");
  const std::string newer = of_node(13, {"Softmax", {"x"}, {"y"}, {attribute("axis", 1)}}, {{"1", "2", "2"}});
  EXPECT_EQ(result(newer, {f32s({0, 0, 0, 0}, {1, 2, 2})}), "f32[1, 2, 2](0.5, 0.5, 0.5, 0.5)");
}

TEST(OnnxRules, SoftmaxBeforeVersion13TakesEmptyTensors) {
  const std::string file =
      of_node(11, {"Softmax", {"x"}, {"y"}, {attribute("axis", 2)}}, {{"2", "3", "0", "4"}});
  EXPECT_EQ(result(file, {f32s({}, {2, 3, 0, 4})}), "f32[2, 3, 0, 4]()");
}

TEST(OnnxRules, GridSampleBeforeVersion20NamesModesForPlanes) {
  const auto sampled = [](std::int64_t version, const char* mode) {
    const std::string file = of_node(version, {"GridSample", {"x", "x1"}, {"y"}, {attribute("mode", mode)}},
                                     {{"1", "1", "2", "2"}, {"1", "1", "1", "2"}});
    return result(file, {f32s({1, 2, 3, 4}, {1, 1, 2, 2}), f32s({0, 0}, {1, 1, 1, 2})});
  };
  EXPECT_EQ(sampled(16, "bilinear"), "f32[1, 1, 1, 1](2.5)");
  EXPECT_EQ(sampled(16, "bicubic"), sampled(20, "cubic"));
  EXPECT_EQ(sampled(16, "nearest"), "f32[1, 1, 1, 1](1)");
  EXPECT_THROW(sampled(20, "bilinear"), Error);
}

TEST(OnnxRules, AttributesThatBecameInputs) {
  EXPECT_EQ(result(of_node(1, {"Reshape", {"x"}, {"y"}, {attribute("shape", list({2, -1}))}}, {{"4"}}),
                   {f32s({1, 2, 3, 4})}),
            "f32[2, 2](1, 2, 3, 4)");
  EXPECT_EQ(result(of_node(9,
                           {"Slice",
                            {"x"},
                            {"y"},
                            {attribute("starts", list({1})), attribute("ends", list({3})),
                             attribute("axes", list({0}))}},
                           {{"4"}}),
                   {f32s({1, 2, 3, 4})}),
            "f32[2](2, 3)");
  EXPECT_EQ(
      result(of_node(1,
                     {"Pad", {"x"}, {"y"}, {attribute("paddings", list({1, 0})), attribute("value", 5.0f)}},
                     {{"2"}}),
             {f32s({1, 2})}),
      "f32[3](5, 1, 2)");
  EXPECT_EQ(result(of_node(11, {"Unsqueeze", {"x"}, {"y"}, {attribute("axes", list({0}))}}, {{"2"}}),
                   {f32s({1, 2})}),
            "f32[1, 2](1, 2)");
  EXPECT_EQ(result(of_node(11, {"Squeeze", {"x"}, {"y"}}, {{"1", "2"}}), {f32s({1, 2}, {1, 2})}),
            "f32[2](1, 2)");
  EXPECT_EQ(
      result(of_node(11,
                     {"ReduceSum", {"x"}, {"y"}, {attribute("axes", list({0})), attribute("keepdims", 0)}},
                     {{"2", "1"}}),
             {f32s({1, 2}, {2, 1})}),
      "f32[1](3)");
  EXPECT_EQ(result(of_node(17, {"ReduceMean", {"x"}, {"y"}, {attribute("axes", list({0}))}}, {{"2"}}),
                   {f32s({1, 2})}),
            "f32[1](1.5)");
  EXPECT_EQ(result(of_node(11, {"Split", {"x"}, {"y", "z"}, {attribute("split", list({1, 2}))}}, {{"3"}}),
                   {f32s({1, 2, 3})}),
            "f32[1](1)");
  EXPECT_EQ(result(of_node(9, {"TopK", {"x"}, {"y", "z"}, {attribute("k", 1)}}, {{"3"}}), {f32s({1, 3, 2})}),
            "f32[1](3)");
  EXPECT_EQ(
      result(of_node(6, {"Clip", {"x"}, {"y"}, {attribute("min", 0.0f), attribute("max", 1.0f)}}, {{"3"}}),
             {f32s({-1, 0.5, 3})}),
      "f32[3](0, 0.5, 1)");
}

TEST(OnnxRules, CastToATypeGivenByName) {
  EXPECT_EQ(result(of_node(1, {"Cast", {"x"}, {"y"}, {attribute("to", "INT64")}}, {{"2"}}), {f32s({1, 2})}),
            "i64[2](1, 2)");
  LANNER_EXPECT_ERROR(imported(of_node(1, {"Cast", {"x"}, {"y"}, {attribute("to", "BIGNUM")}}, {{"2"}})),
                      ErrorCode::bad_data, "'BIGNUM' is not an element type");
}

TEST(OnnxRules, UpsampleBecomesResize) {
  const Message scales = floats("s", {1}, {2});
  EXPECT_EQ(result(of_node(9, {"Upsample", {"x", "s"}, {"y"}}, {{"2"}}, {scales}), {f32s({1, 2})}),
            "f32[4](1, 1, 2, 2)");
  EXPECT_EQ(result(of_node(10, {"Resize", {"x", "s"}, {"y"}}, {{"2"}}, {scales}), {f32s({1, 2})}),
            "f32[4](1, 1, 2, 2)");
}

// Expected values are onnxruntime's; the first is the example of the operator's own text.
TEST(OnnxRules, FirstResizeRoundsUpWhereItShrinks) {
  const auto resized = [](const std::vector<float>& scales) {
    const auto constant = onnx_file::floats("s", {4}, scales);
    return result(of_node(10, {"Resize", {"x", "s"}, {"y"}}, {{"1", "1", "2", "4"}}, {constant}),
                  {f32s({1, 2, 3, 4, 5, 6, 7, 8}, {1, 1, 2, 4})});
  };
  EXPECT_EQ(resized({1, 1, 0.6F, 0.6F}), "f32[1, 1, 1, 2](1, 3)");
  EXPECT_EQ(resized({1, 1, 1.5F, 0.6F}), "f32[1, 1, 3, 2](1, 3, 1, 3, 5, 7)");
}

TEST(OnnxRules, ResizeWithTensorFlowNearestCoordinates) {
  const onnx_file::NodeSpec spec{"Resize",
                                 {"x", "", "s"},
                                 {"y"},
                                 {attribute("coordinate_transformation_mode", "tf_half_pixel_for_nn"),
                                  attribute("nearest_mode", "floor")}};
  // Positions 0.75, 2.25 and so on: (i + 0.5) * 1.5, rounded down.
  EXPECT_EQ(result(of_node(11, spec, {{"6"}}, {floats("s", {1}, {2.0f / 3.0f})}), {f32s({0, 1, 2, 3, 4, 5})}),
            "f32[4](0, 2, 3, 5)");
}

TEST(OnnxRules, DropoutPassesItsInputOn) {
  EXPECT_EQ(
      result(of_node(7, {"Dropout", {"x"}, {"y"}, {attribute("ratio", 0.5f)}}, {{"2"}}), {f32s({1, 2})}),
      "f32[2](1, 2)");
}

TEST(OnnxRules, PReluSlopePerChannelBeforeVersion7) {
  const std::string file = of_node(6, {"PRelu", {"x", "x1"}, {"y"}}, {{"1", "2", "2"}, {"2"}});
  EXPECT_EQ(result(file, {f32s({-1, -1, -1, 1}, {1, 2, 2}), f32s({2, 3})}), "f32[1, 2, 2](-2, -2, -3, 1)");
}

TEST(OnnxRules, GroupNormalizationScalePerGroupBeforeVersion21) {
  const std::string file = of_node(18,
                                   {"GroupNormalization",
                                    {"x", "s", "b"},
                                    {"y"},
                                    {attribute("num_groups", 1), attribute("epsilon", 0.0f)}},
                                   {{"1", "2", "1"}}, {floats("s", {1}, {2}), floats("b", {1}, {1})});
  EXPECT_EQ(result(file, {f32s({1, 3}, {1, 2, 1})}), "f32[1, 2, 1](-1, 3)");
}

TEST(OnnxRules, ScanOfVersion8ScansEachEntryOfTheBatch) {
  const Message body =
      graph({.nodes = {node({"Add", {"sum", "next"}, {"total"}}), node({"Identity", {"total"}, {"each"}})},
             .inputs = {value("sum", f32, {"1"}), value("next", f32, {"1"})},
             .outputs = {value("total", f32, {"1"}), value("each", f32, {"1"})}});
  const std::string file = of_node(
      8,
      {"Scan", {"", "x", "x1"}, {"y", "z"}, {graph_attribute("body", body), attribute("num_scan_inputs", 1)}},
      {{"2", "1"}, {"2", "3", "1"}});
  EXPECT_EQ(result(file, {f32s({0, 10}, {2, 1}), f32s({1, 2, 3, 4, 5, 6}, {2, 3, 1})}), "f32[2, 1](6, 25)");
}

TEST(OnnxRules, OperatorsOfMicrosoftsOptimisers) {
  const onnx_file::NodeSpec spec{"BiasGelu", {"x", "x1"}, {"y"}, {}, "com.microsoft"};
  EXPECT_EQ(result(of_node(11, spec, {{"2"}, {"2"}}), {f32s({0, 0}), f32s({0, 0})}), "f32[2](0, 0)");
}

TEST(OnnxRules, AttributesOfTheWrongKindAreNamed) {
  const std::vector<Message> wrong = {attribute("alpha", "much"),
                                      tensor_attribute("alpha", floats("", {1}, {1})),
                                      attribute("alpha", list({1, 2})), graph_attribute("alpha", graph({}))};
  for (const Message& attribute : wrong)
    LANNER_EXPECT_ERROR(imported(of_node(21, {"Elu", {"x"}, {"y"}, {attribute}}, {{"2"}})),
                        ErrorCode::bad_data, "attribute alpha: expected a number");
  for (const char* name : {"value", "sparse_value", "value_float", "value_floats", "value_int", "value_ints",
                           "value_string", "value_strings"})
    LANNER_EXPECT_ERROR(
        imported(of_node(21, {"Constant", {}, {"y"}, {graph_attribute(name, graph({}))}}, {})),
        ErrorCode::bad_data, name);
  LANNER_EXPECT_ERROR(imported(of_node(21, {"If", {"x"}, {"y"}, {attribute("then_branch", 1)}}, {{}})),
                      ErrorCode::bad_data, "then_branch");
  LANNER_EXPECT_ERROR(imported(of_node(21, {"Elu", {"x"}, {"y"}, {attribute("beta", 1)}}, {{"2"}})),
                      ErrorCode::bad_data, "attribute beta is not one of elu's");
}

} // namespace
} // namespace lanner::test
