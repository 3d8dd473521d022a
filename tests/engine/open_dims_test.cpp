// Sizes that a model leaves open: what weights decide, and what messages say of the rest.

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

TEST(OpenDims, WeightsDecide) {
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

TEST(OpenDims, MessagesSayWhatWasAssumed) {
  const auto flat = [](const std::vector<std::string>& dims) {
    return GraphSpec{.nodes = {node({"Flatten", {"x"}, {"f"}}), node({"MatMul", {"f", "w"}, {"y"}})},
                     .inputs = {value("x", f32, dims)},
                     .outputs = {value("y", f32, {"?", "?"})},
                     .constants = {floats("w", {12, 4}, ones(48))}};
  };
  LANNER_EXPECT_ERROR(built(flat({"N", "3", "H"})), ErrorCode::invalid_argument,
                      "size 1 was assumed for open dims of x: f32[N, 3, H]; give the shape: --shape");
  const Engine given = built(flat({"N", "3", "H"}), {{"x", ShapeRange::fixed({2, 3, 4})}});
  EXPECT_EQ(given.outputs()[0].to_string(), "y: f32[2, 4]");
  // Where nothing was assumed nothing is said of it.
  try {
    built(flat({"2", "3", "5"}));
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.message().find("assumed"), std::string::npos) << error.message();
  }
}

} // namespace
} // namespace lanner
