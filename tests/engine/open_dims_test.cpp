// Open sizes of a model: those inferred from weights, and errors for the others.

#include <gtest/gtest.h>

#include <lanner/engine.h>

#include "engine/small_models.h"
#include "expect_error.h"

namespace lanner {
namespace {

using namespace test::onnx_file;
using test::built;

std::vector<float> ones(std::size_t count) {
  return std::vector<float>(count, 1);
}

TEST(OpenDims, AreInferredFromWeights) {
  const Engine convolution = built(
      {.nodes = {node({"Relu", {"x"}, {"r"}}), node({"Conv", {"r", "w"}, {"y"}, {attribute("group", 2)}})},
       .inputs = {value("x", f32, {"N", "C", "H", "W"})},
       .outputs = {value("y", f32, {"?", "?", "?", "?"})},
       .constants = {floats("w", {4, 3, 1, 1}, ones(12))}});
  EXPECT_EQ(convolution.inputs()[0].to_string(), "x: f32[N, 6, H, W]");
  const Engine product = built({.nodes = {node({"MatMul", {"x", "w"}, {"y"}})},
                                .inputs = {value("x", f32, {"n", "k"})},
                                .outputs = {value("y", f32, {"?", "?"})},
                                .constants = {floats("w", {5, 4}, ones(20))}});
  EXPECT_EQ(product.inputs()[0].to_string(), "x: f32[n, 5]");
  const std::vector<float> x = ones(10);
  Context context = product.create_context();
  const Tensor y = context({{"x", Tensor::from<float>(x, {2, 5})}}).at("y").tensor;
  EXPECT_EQ(y.shape(), (Shape{2, 4}));
  EXPECT_EQ(y.as<float>()[7], 5);
}

TEST(OpenDims, AreNotAssumedToHaveAnySize) {
  const auto flat = [](const std::vector<std::string>& dims) {
    return GraphSpec{.nodes = {node({"Flatten", {"x"}, {"f"}}), node({"MatMul", {"f", "w"}, {"y"}})},
                     .inputs = {value("x", f32, dims)},
                     .outputs = {value("y", f32, {"?", "?"})},
                     .constants = {floats("w", {12, 4}, ones(48))}};
  };
  const Engine open = built(flat({"N", "3", "H"}));
  EXPECT_TRUE(open.open_sizes());
  EXPECT_EQ(open.sample_shapes().at("x"), (Shape{1, 3, 4}));
  EXPECT_EQ(open.sample_shapes({}, 5).at("x"), (Shape{5, 3, 4}));
  Context context = open.create_context();
  for (const std::int64_t batch : {2, 1, 2}) {
    const Tensor x = test::ramp({batch, 3, 4});
    EXPECT_EQ(context({{"x", x}}).at("y").tensor.shape(), (Shape{batch, 4}));
  }
  LANNER_EXPECT_ERROR(context.bind("x", test::ramp({2, 3, 5})), ErrorCode::invalid_argument,
                      "input x: [2, 3, 5] does not fit the model");
  const Engine given = built(flat({"N", "3", "H"}), {{"x", ShapeRange::fixed({2, 3, 4})}});
  EXPECT_EQ(given.outputs()[0].to_string(), "y: f32[2, 4]");
  EXPECT_FALSE(given.open_sizes());
}

TEST(OpenDims, OfOneNameMustBeEqual) {
  const auto sums = [](const std::vector<std::string>& a, const std::vector<std::string>& b) {
    return GraphSpec{.nodes = {node({"ReduceSum", {"a"}, {"p"}}), node({"ReduceSum", {"b"}, {"q"}})},
                     .inputs = {value("a", f32, a), value("b", f32, b)},
                     .outputs = {value("p", f32, {"?", "?"}), value("q", f32, {"?", "?"})}};
  };
  const std::map<std::string, ShapeRange> shapes = {{"a", ShapeRange::fixed({3, 4})},
                                                    {"b", ShapeRange::fixed({5, 2})}};
  LANNER_EXPECT_ERROR(built(sums({"n", "4"}, {"n", "2"}), shapes), ErrorCode::invalid_argument,
                      "shape: n is 5 at dim 0 of b and 3 at dim 0 of a; expected one size");
  for (const char* unknown : {"?", "", "-1", "unk__12", "None"}) {
    const Engine engine = built(sums({unknown, unknown}, {unknown, unknown}), shapes);
    EXPECT_EQ(engine.inputs()[1].to_string(), "b: f32[5, 2]") << unknown;
  }
}

} // namespace
} // namespace lanner
