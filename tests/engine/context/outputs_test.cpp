// Engines with other outputs than the model's.

#include <gtest/gtest.h>

#include "engine/small_models.h"
#include "expect_error.h"

namespace lanner {
namespace {

using namespace test::onnx_file;
using test::built;
using test::numbers;
using test::plain_options;

/// y = exp(-x), and halves of -x.
std::string chain() {
  return model(graph({.nodes = {node({.op = "Neg", .inputs = {"x"}, .outputs = {"negative"}, .name = "neg"}),
                                node({.op = "Exp", .inputs = {"negative"}, .outputs = {"y"}, .name = "exp"}),
                                node({.op = "Split",
                                      .inputs = {"negative"},
                                      .outputs = {"low", "high"},
                                      .attributes = {attribute("num_outputs", 2)},
                                      .name = "split"})},
                      .inputs = {value("x", f32, {"4"})},
                      .outputs = {value("y", f32, {"4"})}}));
}

BuildOptions giving(std::vector<std::string> outputs) {
  BuildOptions options = plain_options();
  options.outputs = std::move(outputs);
  return options;
}

TEST(Outputs, AreTheNamedValuesInOrder) {
  const Engine engine = built(chain(), giving({"high", "y", "neg"}));
  ASSERT_EQ(engine.outputs().size(), 3u);
  EXPECT_EQ(engine.outputs()[0].to_string(), "high: f32[2]");
  EXPECT_EQ(engine.outputs()[1].name, "y");
  EXPECT_EQ(engine.outputs()[2].to_string(), "neg: f32[4]"); // A node's only output, under its name.
  Context context = engine.create_context();
  context.bind("x", test::ramp({4}));
  context.run();
  EXPECT_EQ(numbers(context.output("high").tensor), (std::vector<float>{-2, -3}));
  EXPECT_EQ(numbers(context.output("neg").tensor), (std::vector<float>{0, -1, -2, -3}));
}

TEST(Outputs, OmitUnneededNodesAndInputs) {
  const Engine engine = built(chain(), giving({"negative"}));
  EXPECT_EQ(engine.outputs().size(), 1u);
  EXPECT_EQ(engine.ir().find("exp("), std::string::npos) << engine.ir();
}

TEST(Outputs, MayBeInputs) {
  const Engine engine = built(chain(), giving({"x", "y"}));
  Context context = engine.create_context();
  context.bind("x", test::ramp({4}, 5));
  context.run();
  EXPECT_EQ(numbers(context.output("x").tensor), (std::vector<float>{5, 6, 7, 8}));
}

TEST(Outputs, UnknownNamesAreRejected) {
  LANNER_EXPECT_ERROR(built(chain(), giving({"negativ"})), ErrorCode::not_found,
                      "outputs: the model has no value 'negativ'; did you mean negative");
  LANNER_EXPECT_ERROR(built(chain(), giving({"something else"})), ErrorCode::not_found,
                      "the model's own outputs are y");
  LANNER_EXPECT_ERROR(built(chain(), giving({"y", "y"})), ErrorCode::invalid_argument, "'y' comes twice");
  LANNER_EXPECT_ERROR(built(chain(), giving({"split"})), ErrorCode::invalid_argument,
                      "node 'split' has 2 outputs; name one of them: low, high");
  LANNER_EXPECT_ERROR(built(chain(), giving({""})), ErrorCode::not_found, "no value ''");
  LANNER_EXPECT_ERROR(built(chain(), giving({"a\nb"})), ErrorCode::not_found, "'a\\nb'");
}

} // namespace
} // namespace lanner
