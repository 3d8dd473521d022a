// Tolerances between a kernel's results and the definition's.

#include "lower/check/agreement.h"

#include <cmath>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/parsed.h"

namespace lanner {
namespace {

const Node& last_node(const Graph& graph) {
  return *graph.body().nodes().back();
}

Tactic of_types(const Node& node, DType type) {
  Tactic tactic;
  Storage storage;
  storage.dtype = type;
  tactic.inputs.assign(node.inputs().size(), storage);
  tactic.outputs.assign(node.outputs().size(), storage);
  return tactic;
}

Tensor filled(const Shape& shape, const auto& value) {
  Tensor tensor = Tensor::allocate(DType::f32, shape);
  for (float& element : tensor.as<float>()) element = static_cast<float>(value());
  return tensor;
}

double relative_of_softmax(std::int64_t classes) {
  const auto graph =
      test::parsed(fmt::format("graph @g(%x: f32[2, {}]) -> (%y) {{\n  %y = softmax(%x)\n}}\n", classes));
  const Tensor expected = filled({2, classes}, [&] { return 1.0 / static_cast<double>(classes); });
  return Tolerances(last_node(*graph), of_types(last_node(*graph), DType::f32)).of(expected).relative;
}

// Every probability is divided by the row's sum and so inherits its error, which grows with the row.
TEST(Agreement, ToleranceOfSoftmaxGrowsWithTheRowLength) {
  const double unit = std::ldexp(1.0, -24);
  EXPECT_LT(relative_of_softmax(10), 80 * unit);
  EXPECT_GT(relative_of_softmax(18710), 500 * unit);
  EXPECT_LT(relative_of_softmax(18710), 1000 * unit); // an error of 1e-4 is still found
}

Tolerance of_narrow_convolution(const char* activation, double spread) {
  const auto graph = test::parsed(
      fmt::format("graph @g(%x: f32[1, 4, 9, 9], %w: f32[4, 4, 7, 7]) -> (%y: f32[1, 4, 3, 3]) {{\n"
                  "  %y: f32[1, 4, 3, 3] = fused(%x, %w) {{kind = \"conv+{0}\"}} ((%a: f32[1, 4, 9, 9], %b: "
                  "f32[4, 4, 7, 7]) -> (%d) {{\n"
                  "    %c: f32[1, 4, 3, 3] = conv(%a, %b, _)\n    %d: f32[1, 4, 3, 3] = {0}(%c)\n  }})\n}}\n",
                  activation));
  std::mt19937 random(1);
  std::normal_distribution<double> normal(0, spread);
  const bool flat = std::string_view(activation) == "tanh";
  const Tensor expected =
      filled({1, 4, 3, 3}, [&] { return flat ? std::tanh(normal(random)) : normal(random); });
  return Tolerances(last_node(*graph), of_types(last_node(*graph), DType::f16)).of(expected);
}

// Near 0 tanh(x) is x with all of x's error, which depends on the magnitude of the sums.
TEST(Agreement, ToleranceBeforeATanhGrowsWithTheSumsMagnitude) {
  const double plain = of_narrow_convolution("identity", 3).absolute;
  const double flattened = of_narrow_convolution("tanh", 3).absolute;
  EXPECT_GT(flattened, 0.6 * plain);
  EXPECT_LT(flattened, 1.5 * plain);
  EXPECT_LT(of_narrow_convolution("tanh", 0.1).absolute, 0.1 * plain);
}

} // namespace
} // namespace lanner
