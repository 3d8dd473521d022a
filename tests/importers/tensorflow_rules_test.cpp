// TensorFlow's operators, checked by the results of their conversion. Expected numbers are TensorFlow's own.

#include <gtest/gtest.h>

#include <lanner/source.h>

#include "graph/text/text.h"
#include "importers/graph_def_file.h"
#include "importers/importer.h"
#include "importers/importing.h"
#include "ops/node_run.h"
#include "ops/table/custom.h"
#include "ops/table/table.h"

namespace lanner::test {
namespace {

using namespace graph_def_file;

/// One operator on placeholder `x` (f32 of `dims`) and constants.
std::string of_node(const std::string& op, const std::vector<std::int64_t>& dims,
                    std::vector<std::string> inputs, std::vector<Message> attributes = {},
                    std::vector<Message> constants = {}) {
  constants.push_back(placeholder("x", f32, dims));
  constants.push_back(node({"y", op, std::move(inputs), std::move(attributes)}));
  return graph_def(constants);
}

std::vector<float> counted(int count) {
  std::vector<float> values;
  for (int i = 0; i < count; ++i) values.push_back(static_cast<float>(i));
  return values;
}

TEST(TensorFlowRules, InvalidNodesAreRefused) {
  const std::vector<std::int64_t> square{1, 3, 3, 1};
  const auto refused = [&](const std::string& op, std::vector<std::string> inputs,
                           std::vector<Message> attributes, std::vector<Message> constants,
                           const std::string& expected) {
    const std::string got =
        outcome(of_node(op, square, std::move(inputs), std::move(attributes), std::move(constants)));
    EXPECT_NE(got.find(expected), std::string::npos) << got;
  };
  const auto valid = text("padding", "VALID");
  const auto strides = list("strides", {1, 1, 1, 1}), filters = floats("w", {2, 2, 1, 1}, {1, 10, 100, 1000});
  refused("Conv2D", {"x", "w"}, {valid}, {filters}, "attribute strides is missing");
  refused("MaxPool", {"x"}, {valid, strides}, {}, "attribute ksize is missing");
  refused("BiasAdd", {"x", "b"}, {}, {floats("b", {3}, {1, 2, 3})}, "expected one number per channel");
  refused("Split", {"a", "x"}, {integer("num_split", 2)}, {integers("a", {1}, true)},
          "a split of size 3 into 2 equal parts");
  refused("Slice", {"x", "b", "s"}, {}, {integers("b", {0, 2, 0, 0}), integers("s", {1, 2, 3, 1})},
          "dim 1: 2 elements from 2 on exceed its size 3");
  refused("Transpose", {"x", "p"}, {}, {integers("p", {0, -1, 1, 2})}, "expected each axis from 0 to 3 once");
  refused("Transpose", {"x", "p"}, {}, {integers("p", {0, 1, 1, 2})}, "expected each axis from 0 to 3 once");
  refused("Transpose", {"x", "p"}, {}, {integers("p", {0, 1, 2})}, "perm has 3 axes for rank 4");
  refused("Sum", {"x", "a"}, {}, {integers("a", {1, -3})}, "axes contain axis 1 twice");
  refused("GatherV2", {"x", "i", "a"}, {}, {integers("i", {0}), integers("a", {})},
          "expected one axis of 4 dims");
  refused("QuantizeAndDequantizeV3", {"x", "l", "h", "b"}, {},
          {floats("l", {}, {-1}), floats("h", {}, {1}), integers("b", {})},
          "input 3: expected one number, got 0");
  refused("ResizeArea", {"b", "s"}, {}, {placeholder("b", f32, {1, 32768, 2, 1}), integers("s", {32768, 2})},
          "expected at most 16777216");
  refused("ConcatOffset", {"a", "b"}, {},
          {integers("a", {0}, true), placeholder("b", i32, {std::int64_t{1} << 40})},
          "is not one of the parts' dims");
}

TEST(TensorFlowRules, ConvolutionPadsTheEndFirst) {
  const auto convolved = [](const std::string& padding) {
    return result(of_node("Conv2D", {1, 3, 3, 1}, {"x", "w"},
                          {list("strides", {1, 2, 2, 1}), text("padding", padding)},
                          {floats("w", {2, 2, 1, 1}, {1, 10, 100, 1000})}),
                  {f32s(counted(9), {1, 3, 3, 1})});
  };
  EXPECT_EQ(convolved("SAME"), "f32[1, 2, 2, 1](4310, 502, 76, 8)");
  EXPECT_EQ(convolved("VALID"), "f32[1, 1, 1, 1](4310)");
}

TEST(TensorFlowRules, DepthwiseFiltersEachChannel) {
  EXPECT_EQ(result(of_node("DepthwiseConv2dNative", {1, 1, 2, 2}, {"x", "w"},
                           {list("strides", {1, 1, 1, 1}), text("padding", "VALID")},
                           {floats("w", {1, 1, 2, 2}, {1, 2, 10, 20})}),
                   {f32s({1, 2, 3, 4}, {1, 1, 2, 2})}),
            "f32[1, 1, 2, 4](1, 2, 20, 40, 3, 6, 40, 80)");
}

TEST(TensorFlowRules, TransposedConvolutionHasTheRequestedSize) {
  const auto of_size = [](std::int64_t size, const std::string& padding) {
    return result(of_node("Conv2DBackpropInput", {1, 1, 2, 1}, {"sizes", "w", "x"},
                          {list("strides", {1, 1, 2, 1}), text("padding", padding)},
                          {integers("sizes", {1, 1, size, 1}), floats("w", {1, 3, 1, 1}, {1, 2, 3})}),
                  {f32s({1, 10}, {1, 1, 2, 1})});
  };
  EXPECT_EQ(of_size(3, "SAME"), "f32[1, 1, 3, 1](2, 13, 20)");
  EXPECT_EQ(of_size(4, "SAME"), "f32[1, 1, 4, 1](1, 2, 13, 20)");
  EXPECT_EQ(of_size(5, "VALID"), "f32[1, 1, 5, 1](1, 2, 13, 20, 30)");
  EXPECT_EQ(of_size(6, "VALID"), "f32[1, 1, 6, 1](1, 2, 13, 20, 30, 0)");
}

TEST(TensorFlowRules, PoolingIgnoresPadding) {
  const std::vector<Message> window{list("ksize", {1, 2, 2, 1}), list("strides", {1, 2, 2, 1}),
                                    text("padding", "SAME")};
  EXPECT_EQ(result(of_node("AvgPool", {1, 3, 3, 1}, {"x"}, window), {f32s(counted(9), {1, 3, 3, 1})}),
            "f32[1, 2, 2, 1](2, 3.5, 6.5, 8)");
  EXPECT_EQ(result(of_node("MaxPool", {1, 3, 3, 1}, {"x"}, window), {f32s(counted(9), {1, 3, 3, 1})}),
            "f32[1, 2, 2, 1](4, 5, 7, 8)");
  EXPECT_EQ(result(of_node("MaxPool", {1, 1, 2, 2}, {"x"},
                           {list("ksize", {1, 1, 2, 2}), list("strides", {1, 1, 1, 1}),
                            text("padding", "VALID"), text("data_format", "NCHW")}),
                   {f32s(counted(4), {1, 1, 2, 2})}),
            "f32[1, 1, 1, 1](3)");
}

TEST(TensorFlowRules, DivisionRoundsDown) {
  const auto divided = [](const std::string& op) {
    return result(
        graph_def({integers("a", {-7, 7, -7}), integers("b", {2, 2, -2}), node({"y", op, {"a", "b"}})}), {});
  };
  EXPECT_EQ(divided("FloorDiv"), "i32[3](-4, 3, 3)");
  EXPECT_EQ(divided("FloorMod"), "i32[3](1, 1, -1)");
  EXPECT_EQ(divided("TruncateDiv"), "i32[3](-3, 3, 3)");
  EXPECT_EQ(divided("TruncateMod"), "i32[3](-1, 1, -1)");
  const auto of_reals = [](const std::string& op) {
    return result(of_node(op, {2}, {"x", "b"}, {}, {floats("b", {2}, {2, -2})}), {f32s({-7, 7})});
  };
  EXPECT_EQ(of_reals("FloorDiv"), "f32[2](-4, -4)");
  EXPECT_EQ(of_reals("FloorMod"), "f32[2](1, -1)");
}

TEST(TensorFlowRules, EmptyAxesReduceNothing) {
  const auto sum = [](std::vector<std::int64_t> axes) {
    return result(of_node("Sum", {2, 2}, {"x", "axes"}, {}, {integers("axes", std::move(axes))}),
                  {f32s({1, 2, 3, 4}, {2, 2})});
  };
  EXPECT_EQ(sum({}), "f32[2, 2](1, 2, 3, 4)");
  EXPECT_EQ(sum({0}), "f32[2](4, 6)");
  EXPECT_EQ(sum({0, -1}), "f32[](10)");
}

struct Slicing {
  const char* name;
  std::vector<std::int64_t> begin, end, strides;
  int begins, ends, ellipsis, fresh, shrunk;
  const char* expected;
};

TEST(TensorFlowRules, MasksOfStridedSlices) {
  const Slicing cases[] = {
      {"x[1]", {1}, {2}, {1}, 0, 0, 0, 0, 1, "f32[3](3, 4, 5)"},
      {"x[-1]", {-1}, {0}, {1}, 0, 0, 0, 0, 1, "f32[3](3, 4, 5)"},
      {"x[..., 0]", {0, 0}, {0, 1}, {1, 1}, 0, 0, 1, 0, 2, "f32[2](0, 3)"},
      {"x[:, new, 1:3]", {0, 0, 1}, {0, 1, 3}, {1, 1, 1}, 1, 1, 0, 2, 0, "f32[2, 1, 2](1, 2, 4, 5)"},
      {"x[::-1, ::2]", {0, 0}, {0, 0}, {-1, 2}, 3, 3, 0, 0, 0, "f32[2, 2](3, 5, 0, 2)"},
      {"x[0:-1, -2:]", {0, -2}, {-1, 0}, {1, 1}, 0, 2, 0, 0, 0, "f32[1, 2](1, 2)"},
  };
  for (const Slicing& one : cases) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(result(of_node("StridedSlice", {2, 3}, {"x", "b", "e", "s"},
                             {integer("begin_mask", one.begins), integer("end_mask", one.ends),
                              integer("ellipsis_mask", one.ellipsis), integer("new_axis_mask", one.fresh),
                              integer("shrink_axis_mask", one.shrunk)},
                             {integers("b", one.begin), integers("e", one.end), integers("s", one.strides)}),
                     {f32s(counted(6), {2, 3})}),
              one.expected);
  }
}

TEST(TensorFlowRules, ShapesKnownOnlyAtRunTime) {
  const std::string file = graph_def(
      {placeholder("x", f32, {-1, 2, 3}), node({"shape", "Shape", {"x"}}), integers("zero", {0}),
       integers("one", {1}),
       node({"count", "StridedSlice", {"shape", "zero", "one", "one"}, {integer("shrink_axis_mask", 1)}}),
       integers("rest", {-1}, true), node({"target", "Pack", {"count", "rest"}, {integer("N", 2)}}),
       node({"y", "Reshape", {"x", "target"}})});
  EXPECT_EQ(imported(file)->body().outputs()[0]->type.to_string(), "f32[batch, 6]");
  EXPECT_EQ(result(file, {f32s(counted(6), {1, 2, 3})}), "f32[1, 6](0, 1, 2, 3, 4, 5)");
}

TEST(TensorFlowRules, Resizing) {
  const auto resized = [](const std::string& op, std::vector<Message> attributes) {
    return result(of_node(op, {1, 1, 2, 1}, {"x", "size"}, std::move(attributes), {integers("size", {1, 4})}),
                  {f32s({0, 4}, {1, 1, 2, 1})});
  };
  EXPECT_EQ(resized("ResizeBilinear", {}), "f32[1, 1, 4, 1](0, 2, 4, 4)");
  EXPECT_EQ(resized("ResizeBilinear", {flag("half_pixel_centers", true)}), "f32[1, 1, 4, 1](0, 1, 3, 4)");
  EXPECT_EQ(resized("ResizeNearestNeighbor", {}), "f32[1, 1, 4, 1](0, 0, 4, 4)");
  EXPECT_EQ(resized("ResizeNearestNeighbor", {flag("align_corners", true)}), "f32[1, 1, 4, 1](0, 0, 4, 4)");
}

TEST(TensorFlowRules, PaddingsAndBlocks) {
  EXPECT_EQ(result(of_node("MirrorPad", {3}, {"x", "p"}, {text("mode", "SYMMETRIC")},
                           {constant("p", tensor(i32, {1, 2}).packed(7, {2, 1}))}),
                   {f32s({1, 2, 3})}),
            "f32[6](2, 1, 1, 2, 3, 3)");
  EXPECT_EQ(result(of_node("MirrorPad", {3}, {"x", "p"}, {text("mode", "REFLECT")},
                           {constant("p", tensor(i32, {1, 2}).packed(7, {2, 1}))}),
                   {f32s({1, 2, 3})}),
            "f32[6](3, 2, 1, 2, 3, 2)");
  EXPECT_EQ(result(of_node("SpaceToDepth", {1, 2, 2, 2}, {"x"}, {integer("block_size", 2)}),
                   {f32s(counted(8), {1, 2, 2, 2})}),
            "f32[1, 1, 1, 8](0, 1, 2, 3, 4, 5, 6, 7)");
  EXPECT_EQ(result(of_node("SpaceToBatchND", {1, 2, 2, 1}, {"x", "b", "p"}, {},
                           {integers("b", {2, 2}), constant("p", tensor(i32, {2, 2}).integer(7, 0))}),
                   {f32s(counted(4), {1, 2, 2, 1})}),
            "f32[4, 1, 1, 1](0, 1, 2, 3)");
  EXPECT_EQ(
      result(of_node("BatchToSpaceND", {4, 1, 1, 1}, {"x", "b", "p"}, {},
                     {integers("b", {2, 2}), constant("p", tensor(i32, {2, 2}).packed(7, {0, 0, 1, 0}))}),
             {f32s(counted(4), {4, 1, 1, 1})}),
      "f32[1, 2, 1, 1](1, 3)");
}

TEST(TensorFlowRules, OneHotIgnoresNegativeIndices) {
  EXPECT_EQ(
      result(graph_def({integers("i", {1, -1, 2, 5}), integers("depth", {3}, true), floats("on", {}, {5}),
                        floats("off", {}, {0}), node({"y", "OneHot", {"i", "depth", "on", "off"}})}),
             {}),
      "f32[4, 3](0, 5, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0)");
}

TEST(TensorFlowRules, LocalResponseNormalization) {
  // 2 / (1 + 1 * (1 + 4 + 9))
  EXPECT_EQ(result(of_node("LRN", {1, 1, 1, 3}, {"x"}, {integer("depth_radius", 1), real("beta", 1)}),
                   {f32s({1, 2, 3}, {1, 1, 1, 3})})
                .substr(0, 18),
            "f32[1, 1, 1, 3](0.");
}

TEST(TensorFlowRules, NonMaxSuppression) {
  const std::string file = graph_def({floats("boxes", {3, 4}, {0, 0, 1, 1, 0, 0, 1, 1.1f, 2, 2, 3, 3}),
                                      floats("scores", {3}, {.5f, .9f, .7f}), integers("most", {5}, true),
                                      floats("overlap", {}, {.5f}), floats("least", {}, {0}),
                                      node({"y",
                                            "NonMaxSuppressionV4",
                                            {"boxes", "scores", "most", "overlap", "least"},
                                            {flag("pad_to_max_output_size", true)}})});
  EXPECT_EQ(result(file, {}), "i32[5](1, 2, 0, 0, 0)");
  EXPECT_EQ(imported(file)->body().outputs().size(), 2u);
}

// Fused operators without a kernel on TensorFlow's CPU device: the answers are those of its unfused nodes.

std::vector<Message> four_numbers() {
  return {floats("scale", {1}, {2}), floats("offset", {1}, {-20}), floats("mean", {1}, {1}),
          floats("variance", {1}, {4})};
}

TEST(TensorFlowRules, FusedBatchNormalizationAddsAndActivates) {
  std::vector<Message> constants = four_numbers();
  constants.push_back(floats("side", {1, 2, 2, 1}, {1, 19, 18, 30}));
  // (x - 1) * 2 / 2 - 20 + side
  EXPECT_EQ(
      result(of_node("_FusedBatchNormEx", {1, 2, 2, 1}, {"x", "scale", "offset", "mean", "variance", "side"},
                     {flag("is_training", false), real("epsilon", 0), integer("num_side_inputs", 1),
                      text("activation_mode", "Relu")},
                     constants),
             {f32s({0, 1, 4, 2}, {1, 2, 2, 1})}),
      "f32[1, 2, 2, 1](0, 0, 1, 11)");
}

TEST(TensorFlowRules, FusedDepthwiseAddsABiasAndActivates) {
  const auto attribute_of_names = [](std::string_view key, std::vector<std::string> names) {
    Message list;
    for (const std::string& name : names) list.bytes(2, name);
    return attribute(key, Message().message(1, list));
  };
  EXPECT_EQ(result(of_node("_FusedDepthwiseConv2dNative", {1, 1, 2, 2}, {"x", "w", "b"},
                           {list("strides", {1, 1, 1, 1}), text("padding", "VALID"),
                            attribute_of_names("fused_ops", {"BiasAdd", "Relu6"}), integer("num_args", 1)},
                           {floats("w", {1, 1, 2, 1}, {1, 10}), floats("b", {2}, {1, -21})}),
                   {f32s({1, 2, -3, 2.5f}, {1, 1, 2, 2})}),
            "f32[1, 1, 2, 2](2, 0, 0, 4)");
}

TEST(TensorFlowRules, BiasedConvolutionScalesItsSideInput) {
  const auto convolved = [](const std::string& side, const std::string& activation) {
    return result(
        of_node(
            "FusedConv2DBiasActivation", {1, 1, 3, 1}, {"x", "w", "b", side, "two", "half"},
            {list("strides", {1, 1, 1, 1}), text("padding", "VALID"), text("activation_mode", activation)},
            {floats("w", {1, 1, 1, 1}, {3}), floats("b", {1}, {-4}), floats("none", {0}, {}),
             floats("side", {1, 1, 3, 1}, {2, 4, 6}), floats("two", {}, {2}), floats("half", {}, {.5f})}),
        {f32s({0, 1, 2}, {1, 1, 3, 1})});
  };
  // 2 * 3 * x - 4, and half of the side input
  EXPECT_EQ(convolved("none", "None"), "f32[1, 1, 3, 1](-4, 2, 8)");
  EXPECT_EQ(convolved("side", "Relu"), "f32[1, 1, 3, 1](0, 4, 11)");
}

TEST(TensorFlowRules, NodesThatPassTheirInputOn) {
  for (const char* op : {"CheckNumericsV2", "DeepCopy", "Copy", "Print", "_CopyFromHostToGpu",
                         "_CopyFromGpuToHost", "PlaceholderWithDefault", "AccumulateNV2"})
    EXPECT_EQ(result(of_node(op, {2}, {"x"}), {f32s({1, 2})}), "f32[2](1, 2)") << op;
}

// Lists of tensors.

TEST(TensorFlowRules, ListsAreReadAndWritten) {
  const auto last = [](std::vector<Message> nodes) {
    nodes.push_back(integers("zero", {0}, true));
    nodes.push_back(integers("one", {1}, true));
    nodes.push_back(integers("two", {2}, true));
    nodes.push_back(integers("shape", {2}));
    nodes.push_back(floats("rows", {2, 2}, {1, 2, 3, 4}));
    nodes.push_back(floats("row", {2}, {8, 9}));
    return result(graph_def(nodes), {});
  };
  const Message made =
      node({"list", "TensorListFromTensor", {"rows", "shape"}, {type("element_dtype", f32)}});
  EXPECT_EQ(last({made, node({"y", "TensorListGetItem", {"list", "one", "shape"}})}), "f32[2](3, 4)");
  EXPECT_EQ(last({made, node({"y", "TensorListLength", {"list"}})}), "i32[](2)");
  EXPECT_EQ(last({made, node({"set", "TensorListSetItem", {"list", "zero", "row"}}),
                  node({"y", "TensorListStack", {"set", "shape"}})}),
            "f32[2, 2](8, 9, 3, 4)");
  EXPECT_EQ(last({made, integers("places", {1, 1, 0}),
                  node({"y", "TensorListGather", {"list", "places", "shape"}})}),
            "f32[3, 2](3, 4, 3, 4, 1, 2)");
  const Message reserved =
      node({"list", "TensorListReserve", {"shape", "two"}, {type("element_dtype", f32)}});
  EXPECT_EQ(last({reserved, node({"set", "TensorListSetItem", {"list", "one", "row"}}),
                  node({"y", "TensorListStack", {"set", "shape"}})}),
            "f32[2, 2](0, 0, 8, 9)");
  const Message empty = node({"list", "EmptyTensorList", {"shape", "two"}, {type("element_dtype", f32)}});
  EXPECT_EQ(last({empty, node({"first", "TensorListPushBack", {"list", "row"}}),
                  node({"second", "TensorListPushBack", {"first", "row"}}),
                  node({"y", "TensorListStack", {"second", "shape"}})}),
            "f32[2, 2](8, 9, 8, 9)");
  EXPECT_EQ(last({empty, node({"first", "TensorListPushBack", {"list", "row"}}),
                  node({"pop", "TensorListPopBack", {"first", "shape"}}), node({"y", "Neg", {"pop:1"}})}),
            "f32[2](-8, -9)");
}

TEST(TensorFlowRules, RefusedOperatorsSayWhyAndWhatToDo) {
  EXPECT_NE(
      outcome(of_node("RFFT", {4}, {"x", "n"}, {}, {integers("n", {4})})).find("outside of the network"),
      std::string::npos);
  EXPECT_NE(outcome(of_node("FusedBatchNormV3", {1, 2, 2, 1}, {"x", "scale", "offset", "mean", "variance"},
                            {flag("is_training", true)}, four_numbers()))
                .find("export the model for inference"),
            std::string::npos);
}

TEST(TensorFlowRules, PlugInsReplaceRefusedOperators) {
  lanner_operator table{};
  table.struct_size = sizeof table;
  table.name = "tf.RFFT";
  table.version = 1;
  table.min_inputs = table.max_inputs = 2;
  table.min_outputs = table.max_outputs = 1;
  table.infer = [](void*, const lanner_node* node, lanner_value* outputs, char*) {
    outputs[0] = node->inputs[0];
    return lanner_status{LANNER_OK};
  };
  table.run = [](void*, void*, const lanner_operand*, const lanner_operand*, void*, void*, char*) {
    return lanner_status{LANNER_OK};
  };
  OpTable ops = builtin_op_table();
  ops.add(custom_op(std::make_shared<CustomOperator>(table)));
  const std::string file = of_node("RFFT", {4}, {"x", "n"}, {}, {integers("n", {4})});
  const auto graph = import_model(open_bytes(std::as_bytes(std::span(file))), {ops, {}, {}});
  EXPECT_NE(print(*graph).find("tf.RFFT("), std::string::npos) << print(*graph);
}

} // namespace
} // namespace lanner::test
