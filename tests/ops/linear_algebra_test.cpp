#include <limits>

#include <gtest/gtest.h>

#include "ops/node_run.h"

using namespace lanner;
using namespace lanner::test;

TEST(QuantizeLinear, nan_becomes_the_minimum) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const Tensor x = f32s({nan, inf, -inf});
  EXPECT_EQ(show(run({"quantize_linear", {x, f32s({2}, {}), tensor<std::int8_t>({3}, {})}})),
            "i8[3](-128, 127, -128)");
  EXPECT_EQ(show(run({"quantize_linear", {x, f32s({2}, {}), tensor<std::uint8_t>({3}, {})}})),
            "u8[3](0, 255, 0)");
}

TEST(DynamicQuantizeLinear, all_zeros_have_a_scale) {
  const std::vector<Tensor> zeros = run_all({"dynamic_quantize_linear", {f32s({0, 0})}, {}, 3});
  EXPECT_EQ(show(zeros[0]) + show(zeros[1]) + show(zeros[2]), "u8[2](0, 0)f32[](1)u8[](0)");
  const std::vector<Tensor> some = run_all({"dynamic_quantize_linear", {f32s({-51, 204})}, {}, 3});
  EXPECT_EQ(show(some[0]) + show(some[1]) + show(some[2]), "u8[2](0, 255)f32[](1)u8[](51)");
}

TEST(QuantizedMatmul, each_matrix_of_a_stack_has_its_scales) {
  const auto bytes = [](std::vector<std::uint8_t> values, Shape shape) {
    return tensor<std::uint8_t>(std::move(values), std::move(shape));
  };
  const Tensor zero = bytes({0}, {}), one = f32s({1}, {});
  const Tensor row = bytes({1, 2}, {1, 2}), twice = bytes({1, 2, 3, 4, 1, 2, 3, 4}, {2, 2, 2});
  EXPECT_EQ(
      show(run({"q_linear_matmul", {row, one, zero, twice, f32s({1, 2, 2, 4}, {2, 1, 2}), zero, one, zero}})),
      "u8[2, 1, 2](7, 20, 14, 40)");
  // The stack of the left repeats along another axis of the result.
  const Tensor left = bytes({1, 1, 1, 1}, {2, 1, 1, 2}), right = bytes({1, 1, 1, 1, 1, 1}, {3, 2, 1});
  EXPECT_EQ(
      show(run({"q_linear_matmul", {left, f32s({1, 3}, {2, 1, 1, 1}), zero, right, one, zero, one, zero}})),
      "u8[2, 3, 1, 1](2, 2, 2, 6, 6, 6)");
}

TEST(Matmul, broadcasts_stacks) {
  EXPECT_EQ(inferred({"matmul", {"f32[N, 1, 4, K]", "f32[3, K, 5]"}}), "f32[N, 3, 4, 5]");
  EXPECT_EQ(inferred({"matmul", {"f32[K]", "f32[N, K, 5]"}}), "f32[N, 5]");
  EXPECT_NE(inferred({"matmul", {"f32[2, 3]", "f32[4, 5]"}}).find("row count is 4, expected 3"),
            std::string::npos);
  EXPECT_NE(inferred({"matmul", {"f32[]", "f32[4, 5]"}}).find("rank 1 or more"), std::string::npos);
}

TEST(Matmul, multiplies) {
  const Tensor a = f32s({1, 2, 3, 4}, {2, 2}), b = f32s({1, 0, 0, 1, 2, 0, 0, 2}, {2, 2, 2});
  EXPECT_EQ(show(run({"matmul", {a, b}})), "f32[2, 2, 2](1, 2, 3, 4, 2, 4, 6, 8)");
  EXPECT_EQ(show(run({"matmul", {f32s({1, 2}), f32s({3, 4})}})), "f32[](11)");
  const Tensor big = tensor<std::int32_t>({65536}, {1, 1});
  EXPECT_EQ(show(run({"matmul", {big, big}})), "i32[1, 1](0)"); // Integers wrap around.
}

// 0.1 in FP32 is 0.100000001490116; a single chain of sums gives 1959.67.
TEST(Matmul, rounds_long_sums_little) {
  const std::int64_t depth = 19600;
  const Tensor a = f32s(std::vector<float>(static_cast<std::size_t>(9 * depth), 0.1F), {9, depth});
  const Tensor b = f32s(std::vector<float>(static_cast<std::size_t>(depth * 300), 1), {depth, 300});
  const Tensor y = run({"matmul", {a, b}});
  for (const float value : y.as<float>()) ASSERT_NEAR(value, 1960, 0.01);
}

TEST(Gemm, transposes_and_adds) {
  const Tensor a = f32s({1, 2, 3, 4}, {2, 2}), b = f32s({1, 1, 0, 1}, {2, 2});
  const auto both = attributes({{"transA", std::int64_t{1}}, {"transB", std::int64_t{1}}, {"beta", 2.0}});
  EXPECT_EQ(show(run({"gemm", {a, b, f32s({10, 20})}, both})), "f32[2, 2](24, 43, 26, 44)");
  EXPECT_NE(inferred({"gemm", {"f32[2, 3]", "f32[3, 4]", "f32[3, 4]"}}).find("do not broadcast"),
            std::string::npos);
}

TEST(Einsum, reads_equations) {
  const auto equation = [](const char* text) {
    return attributes({{"equation", Attribute(std::string(text))}});
  };
  const Tensor m = f32s({1, 2, 3, 4}, {2, 2});
  EXPECT_EQ(show(run({"einsum", {m}, equation("ii")})), "f32[](5)");
  EXPECT_EQ(show(run({"einsum", {m}, equation("ij -> ji")})), "f32[2, 2](1, 3, 2, 4)");
  EXPECT_EQ(show(run({"einsum", {m, m}, equation("ij,jk")})), "f32[2, 2](7, 10, 15, 22)");
  EXPECT_EQ(inferred({"einsum", {"f32[N, 2, K]", "f32[K, M]"}, equation("...k,km->...m")}), "f32[N, 2, M]");
  EXPECT_NE(inferred({"einsum", {"f32[2]"}, equation("ij->i")}).find("does not fit"), std::string::npos);
}

TEST(Det, eliminates_with_pivots) {
  EXPECT_EQ(show(run({"det", {f32s({0, 1, 1, 0, 2, 0, 0, 3}, {2, 2, 2})}})), "f32[2](-1, 6)");
}

TEST(QuantizeLinear, rounds_halves_to_even_and_saturates) {
  const Tensor scale = f32s({2}, {}), zero = tensor<std::int8_t>({1}, {});
  EXPECT_EQ(show(run({"quantize_linear", {f32s({1, 3, 5, 1000, -1000}), scale, zero}})),
            "i8[5](1, 3, 3, 127, -128)");
  EXPECT_EQ(show(run({"dequantize_linear", {tensor<std::int8_t>({1, 3}, {2}), scale, zero}})),
            "f32[2](0, 4)");
}

TEST(QuantizeLinear, takes_scales_by_axis_and_by_block) {
  const auto axis = attributes({{"axis", std::int64_t{1}}});
  const Tensor x = f32s({2, 4, 6, 8}, {1, 4});
  EXPECT_EQ(show(run({"quantize_linear", {x, f32s({1, 2, 3, 4})}, axis})), "u8[1, 4](2, 2, 2, 2)");
  auto blocks = axis;
  blocks.set("block_size", std::int64_t{2});
  EXPECT_EQ(show(run({"quantize_linear", {x, f32s({1, 2}, {1, 2})}, blocks})), "u8[1, 4](2, 4, 3, 4)");
  EXPECT_THROW(run({"quantize_linear", {x, f32s({1, 2})}, axis}), Error);
}
