// Importing Caffe nets: layers checked by their results, files of both ages, and harmful files.

#include <random>

#include <gtest/gtest.h>

#include <lanner/source.h>

#include "importers/caffe_file.h"
#include "importers/importer.h"
#include "importers/importing.h"
#include "ops/interpreter/interpreter.h"
#include "ops/node_run.h"
#include "ops/table/table.h"

namespace lanner::test {
namespace {

using namespace caffe_file;

#define LANNER_EXPECT_OUTCOME(result, expected)                                                              \
  do {                                                                                                       \
    const std::string got = (result);                                                                        \
    EXPECT_NE(got.find(expected), std::string::npos) << got.substr(0, 500);                                  \
  } while (false)

std::vector<float> counted(int count) {
  std::vector<float> values;
  for (int i = 0; i < count; ++i) values.push_back(static_cast<float>(i));
  return values;
}

/// Text of a net with input `x` and layers.
std::string text_net(const std::string& dims, const std::string& layers) {
  return "layer { name: 'data' type: 'Input' top: 'x' input_param { shape { " + dims + " } } }\n" + layers;
}
std::string text_layer(const std::string& type, const std::string& parameters = "") {
  return "layer { name: 'l' type: '" + type + "' bottom: 'x' top: 'y' " + parameters + " }";
}
const char* const row_of_three = "dim: 1 dim: 1 dim: 1 dim: 3";
const char* const square_of_three = "dim: 1 dim: 1 dim: 3 dim: 3";

std::string on_row(const std::string& type, const std::string& parameters = "") {
  return result(text_net(row_of_three, text_layer(type, parameters)), {f32s({-1, 0, 2}, {1, 1, 1, 3})});
}

TEST(Caffe, ConvolutionAndInnerProductInOldAndNewFormat) {
  const std::vector<float> filter{1, 2, 3, 4}, weights{1, 1, 1, 1, 1, -1, 1, -1};
  const Message convolution = Message().integer(1, 1).packed(4, {2}).integer(2, 0),
                product = Message().integer(1, 2);
  const std::string newer =
      net({input({7, 1, 3, 3}),
           layer({"c", "Convolution", {"x"}, {"c"}, {blob({1, 1, 2, 2}, filter)}},
                 Message().message(106, convolution)),
           layer({"p", "InnerProduct", {"c"}, {"p"}, {blob({2, 4}, weights), blob({2}, {0, 10})}},
                 Message().message(117, product))});
  const std::string older =
      Message().bytes(3, "x").integer(4, 7).integer(4, 1).integer(4, 3).integer(4, 3).data +
      net({},
          {old_layer({"c", "", {"x"}, {"c"}, {old_blob({1, 1, 2, 2}, filter)}}, 4,
                     Message().message(10, convolution)),
           old_layer(
               {"p", "", {"c"}, {"p"}, {old_blob({1, 1, 2, 4}, weights), old_blob({1, 1, 1, 2}, {0, 10})}},
               14, Message().message(17, product))});
  for (const std::string& file : {newer, older}) {
    EXPECT_EQ(imported(file)->body().parameter(0)->type.to_string(), "f32[batch, 1, 3, 3]");
    EXPECT_EQ(result(file, {f32s(counted(9), {1, 1, 3, 3})}), "f32[1, 2](188, -10)");
  }
}

TEST(Caffe, SizesOfPoolingAreRoundedUp) {
  const auto pooled = [](const std::string& parameters) {
    return result(text_net(square_of_three, text_layer("Pooling", "pooling_param { " + parameters + " }")),
                  {f32s(counted(9), {1, 1, 3, 3})});
  };
  EXPECT_EQ(pooled("pool: MAX kernel_size: 2 stride: 2"), "f32[1, 1, 2, 2](4, 5, 7, 8)");
  EXPECT_EQ(pooled("pool: AVE kernel_size: 2 stride: 2"), "f32[1, 1, 2, 2](2, 3.5, 6.5, 8)");
  // The padding counts, and no window starts in the padding at the end.
  EXPECT_EQ(pooled("pool: AVE kernel_h: 2 kernel_w: 2 stride: 2 pad: 1"),
            "f32[1, 1, 2, 2](0, 0.75, 2.25, 6)");
  EXPECT_EQ(pooled("pool: MAX kernel_size: 2 stride: 2 round_mode: FLOOR"), "f32[1, 1, 1, 1](4)");
  EXPECT_EQ(pooled("pool: AVE global_pooling: true"), "f32[1, 1, 1, 1](4)");
}

TEST(Caffe, Activations) {
  EXPECT_EQ(on_row("ReLU"), "f32[1, 1, 1, 3](0, 0, 2)");
  EXPECT_EQ(on_row("ReLU", "relu_param { negative_slope: 0.5 }"), "f32[1, 1, 1, 3](-0.5, 0, 2)");
  EXPECT_EQ(on_row("AbsVal"), "f32[1, 1, 1, 3](1, 0, 2)");
  EXPECT_EQ(on_row("Power", "power_param { power: 2 scale: 2 shift: 1 }"), "f32[1, 1, 1, 3](1, 1, 25)");
  EXPECT_EQ(on_row("Exp", "exp_param { base: 2 }"), "f32[1, 1, 1, 3](0.5, 1, 4)");
  EXPECT_EQ(on_row("Threshold", "threshold_param { threshold: 1 }"), "f32[1, 1, 1, 3](0, 0, 1)");
  EXPECT_EQ(on_row("Dropout"), "f32[1, 1, 1, 3](-1, 0, 2)");
  EXPECT_EQ(on_row("ArgMax", "argmax_param { axis: 3 }"), "f32[1, 1, 1, 1](2)");
  EXPECT_EQ(on_row("ArgMax", "argmax_param { out_max_val: true }"), "f32[1, 2, 1, 1](2, 2)");
  EXPECT_EQ(on_row("Reduction", "reduction_param { operation: ASUM axis: 1 coeff: 2 }"), "f32[1](6)");
  EXPECT_EQ(on_row("Flatten"), "f32[1, 3](-1, 0, 2)");
  EXPECT_EQ(on_row("Reshape", "reshape_param { shape { dim: 3 dim: -1 } axis: 1 }"),
            "f32[1, 3, 1](-1, 0, 2)");
  EXPECT_EQ(on_row("Softmax", "softmax_param { axis: 1 }"), "f32[1, 1, 1, 3](1, 1, 1)");
  EXPECT_EQ(on_row("Permute", "permute_param { order: 3 }"), "f32[3, 1, 1, 1](-1, 0, 2)");
  const auto permuted = [](const char* order) {
    return outcome(text_net(row_of_three, text_layer("Permute", order)));
  };
  LANNER_EXPECT_OUTCOME(permuted("permute_param { order: 1 order: 1 }"), "perm has 5 axes for rank 4");
  LANNER_EXPECT_OUTCOME(permuted("permute_param { order: 1 order: 1 order: 0 order: 2 }"), "perm has 5 axes");
  LANNER_EXPECT_OUTCOME(permuted("permute_param { order: 7 }"), "perm has 5 axes for rank 4");
}

TEST(Caffe, ArgMaxTakesTheLastOfEquals) {
  const auto places = [](const std::string& parameters) {
    return result(text_net(row_of_three, text_layer("ArgMax", "argmax_param { " + parameters + " }")),
                  {f32s({5, 1, 5}, {1, 1, 1, 3})});
  };
  EXPECT_EQ(places("axis: 3"), "f32[1, 1, 1, 1](2)");
  EXPECT_EQ(places("axis: -1 top_k: 2"), "f32[1, 1, 1, 2](2, 0)");
  EXPECT_EQ(places(""), "f32[1, 1, 1, 1](2)");
  EXPECT_EQ(places("top_k: 2"), "f32[1, 1, 2, 1](2, 0)");
  EXPECT_EQ(places("top_k: 3 out_max_val: true"), "f32[1, 2, 3, 1](2, 0, 1, 5, 5, 1)");
  EXPECT_EQ(places("axis: 3 top_k: 2 out_max_val: true"), "f32[1, 1, 1, 2](5, 5)");
}

/// ArgMax of an input with these sizes.
std::string arg_max_of(const std::vector<std::int64_t>& sizes, const std::vector<float>& values,
                       const std::string& parameters) {
  std::string dims;
  for (const std::int64_t size : sizes) dims += " dim: " + std::to_string(size);
  return result(text_net(dims, text_layer("ArgMax", "argmax_param { " + parameters + " }")),
                {f32s(values, Shape(sizes))});
}

// Caffe keeps the number of dims, of which it makes three at least.
TEST(Caffe, ArgMaxWithoutAnAxisIsOverEachWholeItem) {
  const std::vector<float> values{1, 9, 3, 4, 5, 2, 7, 8, 0, 6, -1, -2}; // two items of six
  const auto top = [&](const std::vector<std::int64_t>& sizes) {
    return arg_max_of(sizes, values, "top_k: 2");
  };
  EXPECT_EQ(top({2, 6}), "f32[2, 1, 2](1, 4, 1, 0)");
  EXPECT_EQ(top({2, 3, 2}), "f32[2, 1, 2](1, 4, 1, 0)");
  EXPECT_EQ(top({2, 1, 3, 2}), "f32[2, 1, 2, 1](1, 4, 1, 0)");
  EXPECT_EQ(top({2, 1, 3, 2, 1}), "f32[2, 1, 2, 1, 1](1, 4, 1, 0)");
  EXPECT_EQ(arg_max_of({2, 1, 3, 2}, values, "top_k: 2 out_max_val: true"),
            "f32[2, 2, 2, 1](1, 4, 9, 5, 1, 0, 8, 7)");
  EXPECT_EQ(arg_max_of({12}, values, ""), "f32[12, 1, 1](0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)");
  EXPECT_EQ(arg_max_of({2, 1, 3, 2}, values, "axis: 2 top_k: 2"), "f32[2, 1, 2, 2](2, 0, 1, 1, 0, 0, 1, 1)");
  EXPECT_EQ(arg_max_of({2, 1, 3, 2}, values, "axis: -2 top_k: 2 out_max_val: true"),
            "f32[2, 1, 2, 2](5, 9, 3, 4, 7, 8, 0, 6)");
}

TEST(Caffe, TrainedNormalisation) {
  const auto of_layer = [](const LayerSpec& spec, const Message& parameters) {
    return result(net({input({1, 2, 1, 1}), layer(spec, parameters)}), {f32s({3, 10}, {1, 2, 1, 1})});
  };
  EXPECT_EQ(of_layer({"b", "BatchNorm", {"x"}, {"y"}, {blob({2}, {2, 4}), blob({2}, {2, 8}), blob({1}, {2})}},
                     Message().message(139, Message().real(3, 0))),
            "f32[1, 2, 1, 1](2, 4)");
  EXPECT_EQ(of_layer({"s", "Scale", {"x"}, {"y"}, {blob({2}, {2, 3}), blob({2}, {1, -1})}},
                     Message().message(142, Message().integer(4, 1))),
            "f32[1, 2, 1, 1](7, 29)");
  EXPECT_EQ(of_layer({"b", "Bias", {"x"}, {"y"}, {blob({2}, {2, 3})}}, {}), "f32[1, 2, 1, 1](5, 13)");
  EXPECT_EQ(result(net({input({1, 2, 1, 1}), layer({"p", "PReLU", {"x"}, {"y"}, {blob({2}, {2, 3})}})}),
                   {f32s({-1, -1}, {1, 2, 1, 1})}),
            "f32[1, 2, 1, 1](-2, -3)");
}

TEST(Caffe, InPlaceLayersAndSkippedLayers) {
  const std::string file = text_net(row_of_three, R"(
      layer { name: "a" type: "ReLU" bottom: "x" top: "x" }
      layer { name: "b" type: "Power" bottom: "x" top: "y" power_param { shift: 1 } }
      layer { name: "c" type: "Power" bottom: "y" top: "y" power_param { scale: 2 } }
      layer { name: "t" type: "Power" bottom: "y" top: "y" power_param { scale: 100 } include { phase: TRAIN } }
      layer { name: "e" type: "Power" bottom: "y" top: "y" power_param { scale: 10 } exclude { phase: TRAIN } }
      layer { name: "labels" type: "Data" top: "images" top: "label" include { phase: TRAIN } }
      layer { name: "loss" type: "SoftmaxWithLoss" bottom: "y" bottom: "label" top: "loss" }
      layer { name: "right" type: "Accuracy" bottom: "y" bottom: "label" top: "right" include { phase: TEST } })");
  const auto graph = imported(file);
  ASSERT_EQ(graph->body().parameters().size(), 1u);
  ASSERT_EQ(graph->body().outputs().size(), 1u);
  EXPECT_EQ(graph->output_names()[0], "y");
  EXPECT_EQ(result(file, {f32s({-1, 0, 2}, {1, 1, 1, 3})}), "f32[1, 1, 1, 3](20, 20, 60)");
}

TEST(Caffe, TrainingDataLayerBecomesAnInput) {
  const std::string file =
      net({layer({"d", "Data", {}, {"x", "label"}}, Message().message(8, Message().integer(1, 0))),
           layer({"c", "Convolution", {"x"}, {"y"}, {blob({1, 2, 1, 1}, {1, 1})}},
                 Message().message(106, Message().integer(1, 1).packed(4, {1}).integer(2, 0)))});
  const auto graph = imported(file);
  ASSERT_EQ(graph->body().parameters().size(), 1u);
  EXPECT_EQ(graph->body().parameter(0)->type.to_string(), "f32[batch, 2, height, width]");
}

TEST(Caffe, SliceTileEltwiseConcatAndCrop) {
  const std::string pair = text_net("dim: 1 dim: 3 dim: 1 dim: 1", R"(
      layer { name: "s" type: "Slice" bottom: "x" top: "a" top: "b" slice_param { slice_point: 1 } }
      layer { name: "u" type: "Tile" bottom: "a" top: "aa" tile_param { tiles: 2 } }
      layer { name: "e" type: "Eltwise" bottom: "aa" bottom: "b" top: "sum" eltwise_param { coeff: 1 coeff: -1 } }
      layer { name: "k" type: "Concat" bottom: "sum" bottom: "b" top: "y" })");
  EXPECT_EQ(result(pair, {f32s({1, 5, 7}, {1, 3, 1, 1})}), "f32[1, 4, 1, 1](-4, -6, 5, 7)");
  const std::string cropped = R"(input: "x" input_shape { dim: 1 dim: 1 dim: 3 dim: 3 }
      input: "like" input_shape { dim: 1 dim: 1 dim: 1 dim: 2 }
      layer { name: "c" type: "Crop" bottom: "x" bottom: "like" top: "y" crop_param { axis: 2 offset: 2 offset: 1 } })";
  EXPECT_EQ(result(cropped, {f32s(counted(9), {1, 1, 3, 3}), f32s({0, 0}, {1, 1, 1, 2})}),
            "f32[1, 1, 1, 2](7, 8)");
}

TEST(Caffe, WeightsInASeparateFile) {
  const std::string layers =
      text_net("dim: 1 dim: 2", text_layer("InnerProduct", "inner_product_param { num_output: 1 }"));
  LANNER_EXPECT_OUTCOME(outcome(layers), "trained blob 0 is missing; give the .caffemodel");
  const std::string weights =
      net({layer({"l", "InnerProduct", {}, {}, {blob({1, 2}, {2, 3}), blob({1}, {1})}})});
  const auto with = [&](const std::string& model, const std::string& file) {
    ImportOptions options{builtin_op_table(), {}, {}};
    options.weights = open_bytes(std::as_bytes(std::span(file)), nullptr, "w");
    return import_model(open_bytes(std::as_bytes(std::span(model))), options);
  };
  const std::vector<Item> inputs{f32s({10, 100}, {1, 2})};
  EXPECT_EQ(show(run_reference(*with(layers, weights), inputs).at(0)), "f32[1, 1](321)");
  const auto refused = [&](const std::string& model, const std::string& file) {
    try {
      with(model, file);
      return std::string("it was read");
    } catch (const Error& error) {
      return error.message();
    }
  };
  LANNER_EXPECT_OUTCOME(refused(layers, "hello"), "w: not the weights of a Caffe net");
  LANNER_EXPECT_OUTCOME(refused(layers, net({input({1})})), "holds no trained layer");
  LANNER_EXPECT_OUTCOME(refused(onnx_file::varied_model(), weights),
                        "a model of format ONNX contains its own weights");
}

TEST(Caffe, UnknownFieldsAreRefused) {
  const auto with = [](const std::string& parameters) {
    return outcome(text_net(row_of_three, "\n" + text_layer("ReLU", parameters)));
  };
  LANNER_EXPECT_OUTCOME(
      with("relu_param { negative_slop: 1 }"),
      "line 3: layer 'l': relu_param has no field 'negative_slop'; did you mean negative_slope?");
  LANNER_EXPECT_OUTCOME(with("relu_param { slope: 1 }"), "no field 'slope'; it has negative_slope, engine");
  LANNER_EXPECT_OUTCOME(with("rleu_param { negative_slope: 1 }"), "'rleu_param'; did you mean relu_param");
  LANNER_EXPECT_OUTCOME(with("negative_slope: 1"), "layer has no field 'negative_slope'");
  // Fields for training and fields of forks' layers are skipped.
  EXPECT_EQ(
      on_row("ReLU", "param { lr_mult: 1 } relu_param { engine: CAFFE } detection_output_param { k: 1 }"),
      "f32[1, 1, 1, 3](0, 0, 2)");
}

TEST(Caffe, InvalidNetsAreRefused) {
  const auto with = [](const std::string& type, const std::string& parameters = "") {
    return outcome(text_net(row_of_three, text_layer(type, parameters)));
  };
  LANNER_EXPECT_OUTCOME(with("Mystery"), "operators that this version does not know: Mystery (l)");
  LANNER_EXPECT_OUTCOME(with("Pooling", "pooling_param { pool: STOCHASTIC kernel_size: 1 }"),
                        "expected MAX or AVE");
  LANNER_EXPECT_OUTCOME(with("Pooling", "pooling_param { kernel_size: 0 }"), "kernel_size is 0");
  LANNER_EXPECT_OUTCOME(with("Pooling", "pooling_param { kernel_size: 2 stride: 99999999999 }"),
                        "stride is 99999999999");
  const auto pooling = [&](const std::string& fields) {
    return with("Pooling", "pooling_param { " + fields + " }");
  };
  LANNER_EXPECT_OUTCOME(with("Pooling"),
                        "its kernel has no size; expected kernel_size or kernel_h and kernel_w");
  LANNER_EXPECT_OUTCOME(pooling("kernel_h: 1"), "kernel_h is given without kernel_w");
  LANNER_EXPECT_OUTCOME(pooling("kernel_size: 1 kernel_h: 1 kernel_w: 1"),
                        "both kernel_size and kernel_h are given");
  LANNER_EXPECT_OUTCOME(pooling("kernel_size: 1 stride: 1 stride_h: 1 stride_w: 1"),
                        "both stride and stride_h");
  LANNER_EXPECT_OUTCOME(pooling("global_pooling: true kernel_size: 1"),
                        "global_pooling takes the whole image");
  const Message filters = Message().integer(1, 1).integer(2, 0);
  LANNER_EXPECT_OUTCOME(
      outcome(net({input({1, 1, 3, 3}), layer({"c", "Convolution", {"x"}, {"y"}, {blob({1, 1, 1, 1}, {1})}},
                                              Message().message(106, filters))})),
      "its kernel has no size");
  LANNER_EXPECT_OUTCOME(with("Eltwise", "eltwise_param { operation: PROD coeff: 2 }"),
                        "for operation SUM, it is PROD");
  LANNER_EXPECT_OUTCOME(with("Crop", "bottom: 'x' crop_param { axis: 3 offset: 1 }"),
                        "dim 3: 3 elements from 1 on exceed its size 3");
  LANNER_EXPECT_OUTCOME(pooling("kernel_size: 1 pad: 1"), "padding of 1 x 1 for a kernel of 1 x 1");
  LANNER_EXPECT_OUTCOME(pooling("global_pooling: true stride: 2"), "expected stride 1 and no padding");
  LANNER_EXPECT_OUTCOME(pooling("kernel_size: 1 pool: MEDIAN"),
                        "field pool: 'MEDIAN' is not one of its values");
  LANNER_EXPECT_OUTCOME(with("Slice", "top: 'z' slice_param { axis: 3 }"),
                        "3 elements do not divide into 2 tops");
  LANNER_EXPECT_OUTCOME(with("ArgMax", "argmax_param { top_k: 0 }"), "top_k is 0");
  LANNER_EXPECT_OUTCOME(with("Tile"), "tiles is 0");
  LANNER_EXPECT_OUTCOME(with("Clip", "clip_param { min: 0 }"), "expected both min and max");
  LANNER_EXPECT_OUTCOME(outcome(text_net(row_of_three, text_layer("ReLU") + text_layer("TanH"))),
                        "its top 'y' was written before, and is not its bottom");
  LANNER_EXPECT_OUTCOME(
      outcome(text_net(row_of_three, "layer { name: 'g' type: 'Pooling' bottom: 'x' top: 'g' pooling_param { "
                                     "global_pooling: true } }" +
                                         text_layer("Eltwise", "bottom: 'g'"))),
      "expected equal sizes");
  LANNER_EXPECT_OUTCOME(with("Softmax", "softmax_param { axis: 9 }"), "axis 9 is out of range for rank 4");
  LANNER_EXPECT_OUTCOME(with("LRN", "lrn_param { local_size: 4 }"), "expected an odd number");
  LANNER_EXPECT_OUTCOME(with("Exp", "exp_param { base: -3 }"), "base is -3");
  LANNER_EXPECT_OUTCOME(with("Reshape", "reshape_param { axis: 3 num_axes: 9 }"), "for rank 4");
  LANNER_EXPECT_OUTCOME(outcome("name: 'n' input: 'x' input_dim: 1"), "bad_data");
  LANNER_EXPECT_OUTCOME(
      outcome(net({input({1, 2}), layer({"b", "Bias", {"x"}, {"y"}, {blob({2, 3}, {1})}})})), "has 1 values");
  LANNER_EXPECT_OUTCOME(
      outcome(net({input({1, 2}), layer({"b", "Bias", {"x"}, {"y"}, {blob({1 << 20, 1 << 20}, {1})}})})),
      "over the limit tensor_bytes");
  LANNER_EXPECT_OUTCOME(outcome(net({input({1, 2}), layer({"b", "Bias", {"x"}, {"y"}, {blob({-1}, {1})}})})),
                        "negative size");
  LANNER_EXPECT_OUTCOME(outcome(net({}, {old_layer({"a", "", {"x"}, {"y"}}, 77)})), "layer type 77");
  LANNER_EXPECT_OUTCOME(outcome(net({}, {Message().message(1, Message())})), "upgrade_net_proto");
}

TEST(Caffe, TruncatedOrCorruptedNetsGiveAnError) {
  const std::string file =
      net({input({1, 1, 3, 3}),
           layer({"c", "Convolution", {"x"}, {"c"}, {blob({1, 1, 2, 2}, {1, 2, 3, 4})}},
                 Message().message(106, Message().integer(1, 1).packed(4, {2}).integer(2, 0))),
           layer({"p", "Pooling", {"c"}, {"y"}}, Message().message(121, Message().integer(2, 2)))});
  ASSERT_EQ(outcome(file).substr(0, 6), "graph ");
  Limits limits;
  limits.tensor_bytes = limits.total_bytes = 1 << 24;
  for (std::size_t i = 0; i < file.size(); ++i)
    EXPECT_FALSE(outcome(std::string_view(file).substr(0, i), {}, limits).empty());
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::string changed = file;
    for (std::uint32_t i = 0; i <= seed % 4; ++i)
      changed[random() % changed.size()] = static_cast<char>(random());
    EXPECT_FALSE(outcome(changed, {}, limits).empty());
  }
}

} // namespace
} // namespace lanner::test
