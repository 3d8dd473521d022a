// Transposes that lowering turns into views: they cost no step and do not change results.

#include <gtest/gtest.h>

#include "backends/tactic_check.h"
#include "engine/small_models.h"
#include "engine/state.h"
#include "engine/told.h"
#include "ops/interpreter/interpreter.h"

namespace lanner::test {
namespace {

using namespace onnx_file;

Engine built(const std::vector<Message>& nodes, const std::vector<std::string>& dims,
             const std::vector<Message>& constants = {}, const std::vector<std::string>& outputs = {"y"}) {
  std::vector<Message> results;
  for (const std::string& name : outputs) results.push_back(value(name, f32, {}));
  const std::string file = model(
      graph({.nodes = nodes, .inputs = {value("x", f32, dims)}, .outputs = results, .constants = constants}));
  BuildOptions options = plain_options();
  options.deterministic = true;
  return test::built(file, options);
}

Message turned(const std::string& from, const std::string& to, const std::vector<std::int64_t>& order) {
  return node({"Transpose", {from}, {to}, {attribute("perm", order)}});
}

std::vector<std::string> steps(const Engine& engine) {
  std::vector<std::string> ops;
  const nlohmann::json explained = told(engine);
  for (const auto& step : explained.at("nodes")) ops.push_back(step.at("op").get<std::string>());
  return ops;
}

Tensor counted(const Shape& shape) {
  Tensor tensor = Tensor::allocate(DType::f32, shape);
  float next = -7;
  for (float& element : tensor.as<float>()) element = next += 1.5f;
  return tensor;
}

void expect_as_defined(const Engine& engine, const Shape& shape) {
  const Tensor x = counted(shape);
  const std::vector<Item> inputs{x};
  const auto want = run_reference(*state_of(engine).graph, inputs);
  Context context = engine.create_context();
  const auto got = context({{"x", x}});
  for (std::size_t i = 0; i < want.size(); ++i) {
    const Tensor& result = got.at(engine.outputs()[i].name).tensor;
    ASSERT_EQ(result.shape(), want[i].tensor.shape());
    const auto a = result.as<float>(), b = want[i].tensor.as<float>();
    for (std::size_t k = 0; k < a.size(); ++k)
      ASSERT_NEAR(a[k], b[k], 1e-4f) << "output " << i << " at " << k;
  }
}

TEST(TransposeView, AroundAConvolutionCostsNoStep) {
  // Reference kernels support one layout only.
  if (const std::string missing = missing_backend("onednn"); !missing.empty()) GTEST_SKIP() << missing;
  std::vector<float> weights;
  for (int i = 0; i < 8 * 8 * 9; ++i) weights.push_back(static_cast<float>(i % 7) / 8.f);
  const Engine engine = built(
      {turned("x", "first", {0, 3, 1, 2}),
       node({"Conv", {"first", "w"}, {"c"}, {attribute("pads", std::vector<std::int64_t>{1, 1, 1, 1})}}),
       turned("c", "y", {0, 2, 3, 1})},
      {"1", "6", "5", "8"}, {floats("w", {8, 8, 3, 3}, weights)});
  for (const std::string& op : steps(engine)) EXPECT_NE(op, "transpose");
  expect_as_defined(engine, {1, 6, 5, 8});
}

TEST(TransposeView, AroundARepeatingPadCostsNoStep) {
  if (const std::string missing = missing_backend("onednn"); !missing.empty()) GTEST_SKIP() << missing;
  std::vector<float> weights;
  for (int i = 0; i < 8 * 8 * 9; ++i) weights.push_back(static_cast<float>(i % 7) / 8.f);
  for (const char* mode : {"reflect", "edge", "wrap"}) {
    const Engine engine =
        built({turned("x", "first", {0, 3, 1, 2}),
               node({"Pad", {"first", "pads"}, {"p"}, {attribute("mode", mode)}}),
               node({"Conv", {"p", "w"}, {"c"}}), turned("c", "y", {0, 2, 3, 1})},
              {"1", "6", "5", "8"},
              {floats("w", {8, 8, 3, 3}, weights), integers("pads", {8}, {0, 0, 1, 2, 0, 0, 1, -1})});
    for (const std::string& op : steps(engine)) EXPECT_NE(op, "transpose") << mode;
    expect_as_defined(engine, {1, 6, 5, 8});
  }
}

TEST(TransposeView, BeforeAReshapeCostsNoStep) {
  if (const std::string missing = missing_backend("onednn"); !missing.empty()) GTEST_SKIP() << missing;
  const Engine engine = built(
      {node({"MaxPool", {"x"}, {"p"}, {attribute("kernel_shape", std::vector<std::int64_t>{2, 2})}}),
       turned("p", "t", {0, 2, 3, 1}), node({"Reshape", {"t", "shape"}, {"r"}}), node({"Neg", {"r"}, {"y"}})},
      {"2", "8", "5", "4"}, {integers("shape", {2}, {2, 96})});
  for (const std::string& op : steps(engine)) EXPECT_NE(op, "transpose");
  expect_as_defined(engine, {2, 8, 5, 4});
}

TEST(TransposeView, AsAnOutputIsACopyOfItsInput) {
  const Engine engine = built({turned("x", "y", {2, 0, 1}), node({"Relu", {"x"}, {"z"}}),
                               turned("z", "u", {1, 2, 0}), node({"Neg", {"z"}, {"v"}})},
                              {"2", "3", "4"}, {}, {"y", "u", "v"});
  expect_as_defined(engine, {2, 3, 4});
}

TEST(TransposeView, IsNotOverwrittenWhileAnotherReadsIt) {
  // Each reader of `n` and of the view could work in place in its memory.
  const Engine engine =
      built({node({"MaxPool", {"x"}, {"n"}, {attribute("kernel_shape", std::vector<std::int64_t>{1, 1})}}),
             turned("n", "t", {0, 3, 2, 1}), node({"Relu", {"t"}, {"a"}}),
             node({"Softmax", {"n"}, {"b"}, {attribute("axis", 1)}}), turned("b", "c", {0, 3, 2, 1}),
             node({"Add", {"a", "c"}, {"y"}}), node({"Sub", {"t", "c"}, {"z"}})},
            {"1", "2", "3", "4"}, {}, {"y", "z"});
  expect_as_defined(engine, {1, 2, 3, 4});
}

} // namespace
} // namespace lanner::test
