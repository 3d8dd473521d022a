#include "lower/check/quick_products.h"

#include <cmath>
#include <random>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/parsed.h"
#include "ops/interpreter/interpreter.h"

namespace lanner::test {
namespace {

constexpr int threads = 2;

std::vector<Item> drawn(const Graph& graph) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<Item> items;
  for (const auto& input : graph.body().parameters()) {
    Tensor floats = Tensor::allocate(DType::f32, input->type.shape());
    for (float& value : floats.as<float>()) value = normal(random);
    Tensor stored = Tensor::allocate(input->type.dtype(), input->type.shape());
    copy_tensor(floats, stored);
    items.emplace_back().tensor = std::move(stored);
  }
  return items;
}

std::optional<std::vector<Item>> quick(const Graph& graph, const std::vector<Item>& items) {
  std::vector<const Item*> inputs;
  for (const Item& item : items) inputs.push_back(&item);
  return quick_product(*graph.body().nodes().back(), inputs, threads);
}

/// Compares within the rounding of sums of `depth` products.
void expect_as_defined(const std::string& text, double depth) {
  SCOPED_TRACE(text);
  const auto graph = parsed(text);
  const std::vector<Item> items = drawn(*graph);
  const auto got = quick(*graph, items);
  ASSERT_TRUE(got.has_value());
  const std::vector<Item> expected = run_reference(*graph, items, threads);
  const Tensor &left = got->at(0).tensor, &right = expected.at(0).tensor;
  ASSERT_EQ(left.dtype(), right.dtype());
  ASSERT_EQ(left.shape(), right.shape());
  Tensor a = Tensor::allocate(DType::f64, left.shape()), b = Tensor::allocate(DType::f64, left.shape());
  copy_tensor(left, a);
  copy_tensor(right, b);
  const double step = left.dtype() == DType::f32 ? 1e-5 : left.dtype() == DType::f16 ? 2e-3 : 2e-2;
  for (std::size_t i = 0; i < a.as<double>().size(); ++i)
    ASSERT_NEAR(a.as<double>()[i], b.as<double>()[i], step * (std::sqrt(depth) + std::abs(b.as<double>()[i])))
        << i;
}

std::string conv(const std::string& x, const std::string& w, const std::string& attributes = "",
                 const std::string& type = "f32", const std::string& bias = "") {
  const std::string parameter = bias.empty() ? "" : fmt::format(", %b: {}[{}]", type, bias);
  return fmt::format("graph @g(%x: {0}[{1}], %w: {0}[{2}]{3}) -> (%y) {{\n  %y = conv(%x, %w{4}) {5}\n}}\n",
                     type, x, w, parameter, bias.empty() ? "" : ", %b",
                     attributes.empty() ? "" : fmt::format("{{{}}}", attributes));
}

TEST(QuickProducts, ConvolutionsAgreeWithTheDefinition) {
  expect_as_defined(conv("1, 16, 40, 41", "24, 16, 3, 3", "pads = [1, 1, 1, 1]"), 144);
  expect_as_defined(conv("2, 8, 66, 100", "9, 8, 5, 4", "strides = [2, 3], pads = [0, 1, 0, 1]"), 160);
  expect_as_defined(conv("1, 16, 40, 30", "21, 16, 3, 3", "dilations = [2, 2], pads = [1, 0, 1, 0]"), 144);
  expect_as_defined(conv("1, 24, 50, 50", "32, 6, 3, 3", "group = 4, pads = [1, 1, 1, 1]"), 54);
  expect_as_defined(conv("1, 64, 500", "64, 64, 3"), 192);
  expect_as_defined(conv("1, 4, 12, 14, 16", "16, 4, 3, 3, 3", "pads = [1, 1, 1, 1, 1, 1]"), 108);
  expect_as_defined(conv("1, 16, 57, 61", "24, 16, 3, 3", "auto_pad = \"SAME_UPPER\", strides = [2, 2]"),
                    144);
  expect_as_defined(conv("1, 1030, 9, 7", "40, 1030, 1, 1", "", "f32", "40"), 1030);
  expect_as_defined(conv("1, 16, 40, 41", "24, 16, 3, 3", "", "f16", "24"), 144);
  expect_as_defined(conv("1, 16, 40, 41", "24, 16, 3, 3", "", "bf16"), 144);
}

TEST(QuickProducts, ProductsAgreeWithTheDefinition) {
  const auto matmul = [](const char* a, const char* b) {
    return fmt::format("graph @g(%a: f32[{}], %b: f32[{}]) -> (%y) {{\n  %y = matmul(%a, %b)\n}}\n", a, b);
  };
  expect_as_defined(matmul("37, 700", "700, 91"), 700);
  expect_as_defined(matmul("3, 2, 50, 64", "64, 205"), 64);
  expect_as_defined(matmul("2, 1, 64, 100", "1, 3, 100, 77"), 100);
  const auto gemm = [](const char* a, const char* b, const char* c, const char* attributes) {
    return fmt::format("graph @g(%a: f32[{}], %b: f32[{}], %c: f32[{}]) -> (%y) {{\n"
                       "  %y = gemm(%a, %b, %c) {{{}}}\n}}\n",
                       a, b, c, attributes);
  };
  expect_as_defined(gemm("37, 700", "700, 91", "91", "alpha = 0.5, beta = 2.0"), 700);
  expect_as_defined(gemm("700, 37", "91, 700", "37, 1", "transA = 1, transB = 1"), 700);
  expect_as_defined(gemm("37, 700", "91, 700", "37, 91", "transB = 1, beta = 0.0"), 700);
}

// too small to be worth it
TEST(QuickProducts, SmallProductsAndOtherOperatorsUseTheDefinition) {
  for (const std::string& text :
       {conv("1, 2, 5, 5", "3, 2, 3, 3"), conv("1, 64, 99, 99", "64, 1, 3, 3", "group = 64"),
        conv("1, 16, 40, 41", "24, 16, 3, 3", "", "f64"),
        std::string("graph @g(%x: f32[999, 999]) -> (%y) {\n  %y = relu(%x)\n}\n")}) {
    const auto graph = parsed(text);
    EXPECT_FALSE(quick(*graph, drawn(*graph)).has_value()) << text;
  }
}

// Non-finite elements are not compared, neither here nor by callers.
TEST(QuickProducts, InfiniteWeightsAreNotADifference) {
  const auto graph = parsed("graph @g(%a: f32[64, 300], %b: f32[300, 128]) -> (%y) {\n"
                            "  %y = matmul(%a, %b)\n}\n");
  std::vector<Item> items = drawn(*graph);
  items[1].tensor.as<float>()[0] = INFINITY;
  EXPECT_TRUE(quick(*graph, items).has_value());
}

} // namespace
} // namespace lanner::test
