// Models with open inputs but a fixed size of their export inside: the error comes where the shape is given.

#include <gtest/gtest.h>

#include <lanner/engine.h>

#include "engine/small_models.h"
#include "expect_error.h"

namespace lanner {
namespace {

using namespace test::onnx_file;
using test::built;

Tensor ones(const Shape& shape) {
  const std::vector<float> values(static_cast<std::size_t>(shape.elements()), 1);
  return Tensor::from<float>(values, shape);
}

/// x[N, 6] seen as [batch, 6], exported with that batch.
GraphSpec reshaped(std::int64_t batch) {
  return {.nodes = {node({"Reshape", {"x", "s"}, {"r"}, {}, {}, "view"}), node({"Relu", {"r"}, {"y"}})},
          .inputs = {value("x", f32, {"N", "6"})},
          .outputs = {value("y", f32, {"?", "?"})},
          .constants = {integers("s", {2}, {batch, 6})}};
}

constexpr const char* said =
    "input x: [2, 6] does not fit the model: node view: reshape: f32[1, 6] cannot hold the "
    "elements of f32[2, 6]; it was exported for x: [1, 6]";

TEST(GivenShapes, BindNamesTheExportedSizes) {
  const Engine engine = built(reshaped(1));
  Context context = engine.create_context();
  LANNER_EXPECT_ERROR(context.bind("x", ones({2, 6})), ErrorCode::invalid_argument, said);
  // the previous binding still runs
  context.bind("x", ones({1, 6}));
  context.run();
  LANNER_EXPECT_ERROR(context.bind("x", ones({2, 6})), ErrorCode::invalid_argument, said);
  context.run();
  EXPECT_EQ(context.output("y").tensor.shape(), (Shape{1, 6}));
}

TEST(GivenShapes, PrepareNamesTheExportedSizes) {
  LANNER_EXPECT_ERROR(built(reshaped(1)).prepare({{"x", {2, 6}}}), ErrorCode::invalid_argument, said);
}

TEST(GivenShapes, BuildNamesTheExportedSizes) {
  LANNER_EXPECT_ERROR(built(reshaped(1), {{"x", ShapeRange{{1, 6}, {2, 6}, {2, 6}}}}),
                      ErrorCode::invalid_argument, said);
  // Both ends of a range must fit, not only what is tuned for.
  LANNER_EXPECT_ERROR(built(reshaped(1), {{"x", ShapeRange{{1, 6}, {1, 6}, {8, 6}}}}),
                      ErrorCode::invalid_argument, "input x: [8, 6] does not fit the model");
  LANNER_EXPECT_ERROR(built(reshaped(3), {{"x", ShapeRange{{1, 6}, {3, 6}, {3, 6}}}}),
                      ErrorCode::invalid_argument, "input x: [1, 6] does not fit the model");
}

TEST(GivenShapes, ExportedSizeIsFoundInAReshape) {
  const Engine engine = built(reshaped(4));
  LANNER_EXPECT_ERROR(engine.create_context().bind("x", ones({1, 6})), ErrorCode::invalid_argument,
                      "input x: [1, 6] does not fit the model: node view: reshape: f32[4, 6] "
                      "cannot hold the elements of f32[1, 6]; it was exported for x: [4, 6]");
  EXPECT_EQ(engine.sample_shapes().at("x"), (Shape{4, 6}));
}

TEST(GivenShapes, ExportedSizeIsFoundInAConstant) {
  const std::vector<float> values(18, 1);
  const Engine engine = built({.nodes = {node({"Add", {"x", "p"}, {"y"}, {}, {}, "plus"})},
                               .inputs = {value("x", f32, {"N", "6"})},
                               .outputs = {value("y", f32, {"?", "?"})},
                               .constants = {floats("p", {3, 6}, values)}});
  Context context = engine.create_context();
  LANNER_EXPECT_ERROR(context.bind("x", ones({2, 6})), ErrorCode::invalid_argument,
                      "input x: [2, 6] does not fit the model: node plus: ");
  context.bind("x", ones({3, 6}));
  context.run();
}

TEST(GivenShapes, ContradictionOfTwoInputsNamesBoth) {
  const Engine engine = built({.nodes = {node({"Add", {"a", "b"}, {"y"}, {}, {}, "plus"})},
                               .inputs = {value("a", f32, {"N"}), value("b", f32, {"M"})},
                               .outputs = {value("y", f32, {"?"})}});
  Context context = engine.create_context();
  context.bind("a", ones({2}));
  context.bind("b", ones({3}));
  LANNER_EXPECT_ERROR(context.run(), ErrorCode::invalid_argument,
                      "input a: [2], b: [3] does not fit the model: node plus: ");
  context.bind("b", ones({2}));
  context.run();
}

TEST(GivenShapes, BindChecksRankAndFixedSizes) {
  const Engine engine = built(reshaped(1));
  Context context = engine.create_context();
  LANNER_EXPECT_ERROR(context.bind("x", ones({1, 7})), ErrorCode::invalid_argument,
                      "input x: expected f32[N, 6], got [1, 7]; dim 1 differs");
  LANNER_EXPECT_ERROR(context.bind("x", ones({6})), ErrorCode::invalid_argument,
                      "input x: expected f32[N, 6], got rank 1");
}

} // namespace
} // namespace lanner
