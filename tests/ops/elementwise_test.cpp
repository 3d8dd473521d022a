#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "expect_error.h"
#include "ops/node_run.h"

using namespace lanner;
using namespace lanner::test;

static constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
static constexpr float inf = std::numeric_limits<float>::infinity();

TEST(Arithmetic, broadcasts_both_operands) {
  EXPECT_EQ(show(run({"add", {f32s({1, 2}, {2, 1}), f32s({10, 20, 30})}})),
            "f32[2, 3](11, 21, 31, 12, 22, 32)");
  EXPECT_EQ(show(run({"sub", {f32s({5}, {}), f32s({1, 2, 3, 4}, {2, 1, 2})}})), "f32[2, 1, 2](4, 3, 2, 1)");
  EXPECT_EQ(show(run({"mul", {f32s({}, {0, 1}), f32s({1, 2, 3})}})), "f32[0, 3]()");
}

TEST(Arithmetic, infers_symbolic_dims) {
  EXPECT_EQ(inferred({"add", {"f32[N, 1, 4]", "f32[3, 1]"}}), "f32[N, 3, 4]");
  EXPECT_EQ(inferred({"add", {"f32[N, 4]", "f32[N, 4]"}}), "f32[N, 4]");
  EXPECT_EQ(inferred({"add", {"f32[N]", "f32[4]"}}), "f32[4]");
  EXPECT_EQ(inferred({"add", {"f32[*]", "f32[4]"}}), "f32[*]");
  EXPECT_NE(inferred({"add", {"f32[3]", "f32[4]"}}).find("sizes 3 and 4 do not broadcast"),
            std::string::npos);
  EXPECT_NE(inferred({"add", {"f32[3]", "i64[3]"}}).find("is i64, expected f32 as input 0"),
            std::string::npos);
}

TEST(Arithmetic, integers_divide_towards_zero_and_wrap) {
  const Tensor a = tensor<std::int32_t>({-7, 7, 5, INT32_MIN}, {4}),
               b = tensor<std::int32_t>({2, -2, 0, -1}, {4});
  EXPECT_EQ(show(run({"div", {a, b}})), "i32[4](-3, -3, 0, -2147483648)");
  EXPECT_EQ(show(run({"mod", {a, b}})), "i32[4](1, -1, 0, 0)");
  EXPECT_EQ(show(run({"mod", {a, b}, attributes({{"fmod", std::int64_t{1}}})})), "i32[4](-1, 1, 0, 0)");
  EXPECT_EQ(show(run({"add", {tensor<std::int8_t>({127}, {1}), tensor<std::int8_t>({1}, {1})}})),
            "i8[1](-128)");
  EXPECT_EQ(show(run({"mul", {tensor<std::uint16_t>({65535}, {1}), tensor<std::uint16_t>({65535}, {1})}})),
            "u16[1](1)");
}

TEST(Arithmetic, float_modulo_takes_the_divisors_sign) {
  EXPECT_EQ(show(run({"mod", {f32s({-4.5f, 4.5f, -1, 1}), f32s({2, -2, inf, inf})}})),
            "f32[4](1.5, -1.5, inf, 1)");
}

TEST(Arithmetic, follows_known_integers) {
  EXPECT_EQ(known({"add", {i64s({1, 2}), i64s({3, 4})}}), "[4, 6]");
  EXPECT_EQ(known({"div", {i64s({-7, 8}), i64s({2}, {})}}), "[-3, 4]");
}

TEST(Power, mixes_types) {
  EXPECT_EQ(show(run({"pow", {f32s({2, 3}), i64s({3, 2})}})), "f32[2](8, 9)");
  EXPECT_EQ(show(run({"pow", {i64s({2, -1, 3, 1}), i64s({10, -3, -1, -5})}})), "i64[4](1024, -1, 0, 1)");
  EXPECT_EQ(show(run({"pow", {i64s({4, 9}), f32s({0.5f, 0.5f})}})), "i64[2](2, 3)");
}

TEST(Variadic, nan_wins_in_min_and_max) {
  EXPECT_EQ(show(run({"max", {f32s({1, not_a_number, 3}), f32s({not_a_number, 2, 2})}})),
            "f32[3](nan, nan, 3)");
  EXPECT_EQ(show(run({"min", {f32s({1, 5}), f32s({3, 4}), f32s({2}, {})}})), "f32[2](1, 2)");
  EXPECT_EQ(show(run({"mean", {f32s({1, 2}), f32s({3}, {}), f32s({5, 7})}})), "f32[2](3, 4)");
  EXPECT_EQ(show(run({"sum", {f32s({1}, {1}), f32s({1, 2, 3}), f32s({10}, {})}})), "f32[3](12, 13, 14)");
}

TEST(Variadic, clip_prefers_max) {
  EXPECT_EQ(show(run({"clip", {f32s({-2, 0, 2}), f32s({-1}, {}), f32s({1}, {})}})), "f32[3](-1, 0, 1)");
  EXPECT_EQ(show(run({"clip", {f32s({-2, 2}), f32s({3}, {}), f32s({1}, {})}})), "f32[2](1, 1)");
  EXPECT_EQ(show(run({"clip", {i64s({-2, 2}), std::nullopt, i64s({1}, {})}})), "i64[2](-2, 1)");
}

TEST(Unary, rounds_halves_to_even) {
  EXPECT_EQ(show(run({"round", {f32s({0.5f, 1.5f, 2.5f, -0.5f, -1.5f})}})), "f32[5](0, 2, 2, -0, -2)");
  EXPECT_EQ(show(run({"sign", {f32s({-3, 0, 7})}})), "f32[3](-1, 0, 1)");
  EXPECT_EQ(show(run({"abs", {tensor<std::int8_t>({-128, -5, 5}, {3})}})), "i8[3](-128, 5, 5)");
  EXPECT_EQ(show(run({"softplus", {f32s({-200, 0, 200})}})), "f32[3](0, 0.6931472, 200)");
}

TEST(Unary, halves_are_computed_in_f32_and_rounded_once) {
  Tensor x = Tensor::allocate(DType::f16, Shape{3});
  copy_tensor(f32s({0, 1, 20}), x);
  const Tensor y = run({"exp", {x}});
  EXPECT_EQ(y.dtype(), DType::f16);
  Tensor wide = Tensor::allocate(DType::f32, Shape{3});
  copy_tensor(y, wide);
  EXPECT_EQ(show(wide), "f32[3](1, 2.71875, inf)");
}

TEST(Unary, refuses_integers_where_onnx_does) {
  EXPECT_NE(inferred({"exp", {"i64[3]"}}).find("is i64, expected "), std::string::npos);
}

TEST(Unary, of_the_ends_of_64_bits_wraps) {
  const Tensor ends = i64s({INT64_MIN, INT64_MAX});
  EXPECT_EQ(show(run({"neg", {ends}})), "i64[2](-9223372036854775808, -9223372036854775807)");
  EXPECT_EQ(known({"neg", {ends}}), "[-9223372036854775808, -9223372036854775807]");
  EXPECT_EQ(known({"neg", {i64s({INT64_MAX})}}), "[-9223372036854775807]");
}

TEST(Activation, follows_its_attributes) {
  EXPECT_EQ(show(run({"leaky_relu", {f32s({-2, 2})}, attributes({{"alpha", 0.5}})})), "f32[2](-1, 2)");
  EXPECT_EQ(show(run({"hard_sigmoid", {f32s({-9, 0, 9})}})), "f32[3](0, 0.5, 1)");
  EXPECT_EQ(show(run({"hard_swish", {f32s({-4, 0, 4})}})), "f32[3](-0, 0, 4)");
  EXPECT_EQ(show(run({"prelu", {f32s({-2, 2, -4, 4}, {2, 2}), f32s({0.5f, 1}, {2})}})),
            "f32[2, 2](-1, 2, -2, 4)");
  EXPECT_EQ(inferred({"prelu", {"f32[N, 3]", "f32[M, 1]"}}), "f32[N, 3]");
  LANNER_EXPECT_ERROR(run({"prelu", {f32s({-2, 2}, {1, 2}), f32s({1, 2, 3, 4}, {2, 2})}}),
                      ErrorCode::invalid_argument, "the slope f32[2, 2] does not broadcast to");
  LANNER_EXPECT_ERROR(run({"prelu", {f32s({-2, 2}), f32s({1, 2}, {1, 2})}}), ErrorCode::invalid_argument,
                      "the slope f32[1, 2] does not broadcast to");
  EXPECT_EQ(
      show(run({"shrink", {i64s({INT64_MAX, INT64_MIN, 0})}, attributes({{"bias", -1.5}, {"lambd", 0.5}})})),
      show(i64s({INT64_MAX, INT64_MIN, 0})));
  EXPECT_EQ(show(run({"shrink", {f32s({-2, 0, 2})}, attributes({{"bias", 1.5}, {"lambd", 1.5}})})),
            "f32[3](-0.5, 0, 0.5)");
  EXPECT_EQ(show(run({"relu", {f32s({-1, not_a_number, 1})}})), "f32[3](0, nan, 1)");
  LANNER_EXPECT_ERROR(run({"gelu", {f32s({1})}, attributes({{"approximate", std::string("erf")}})}),
                      ErrorCode::invalid_argument, "approximate holds \"erf\"");
}

TEST(Comparison, compares_every_type_it_may) {
  EXPECT_EQ(show(run({"equal", {strings({"a", "b"}, {2}), strings({"a"}, {1})}})), "bool[2](1, 0)");
  EXPECT_EQ(show(run({"less", {f32s({1, not_a_number, 3}), f32s({2}, {})}})), "bool[3](1, 0, 0)");
  EXPECT_EQ(show(run({"greater_or_equal", {i64s({1, 2, 3}), i64s({2}, {})}})), "bool[3](0, 1, 1)");
  EXPECT_EQ(show(run({"is_inf", {f32s({-inf, inf, 1})}, attributes({{"detect_negative", std::int64_t{0}}})})),
            "bool[3](0, 1, 0)");
}

TEST(Comparison, decides_on_known_values) {
  EXPECT_EQ(known({"equal", {i64s({2, -1}), i64s({-1}, {})}}), "bool[2](0, 1)");
  EXPECT_EQ(known({"less", {i64s({2, -1}), i64s({0}, {})}}), "bool[2](0, 1)");
}

TEST(Logical, shifts_beyond_the_width) {
  const Tensor x = tensor<std::int8_t>({-128, 64, 1}, {3}), by = tensor<std::int8_t>({9, 1, 7}, {3});
  EXPECT_EQ(show(run({"bit_shift", {x, by}, attributes({{"direction", std::string("RIGHT")}})})),
            "i8[3](-1, 32, 0)");
  EXPECT_EQ(show(run({"bit_shift", {x, by}, attributes({{"direction", std::string("LEFT")}})})),
            "i8[3](0, -128, -128)");
  EXPECT_EQ(show(run({"bitwise_not", {tensor<std::uint8_t>({0, 255}, {2})}})), "u8[2](255, 0)");
  EXPECT_EQ(show(run({"xor", {bools({1, 0}, {2}), bools({1}, {})}})), "bool[2](0, 1)");
}

TEST(Where, chooses_any_type) {
  EXPECT_EQ(show(run({"where", {bools({1, 0}, {2, 1}), strings({"a", "b"}, {2}), strings({"-"}, {})}})),
            "string[2, 2](\"a\", \"b\", \"-\", \"-\")");
  EXPECT_EQ(inferred({"where", {"bool[N, 1]", "f32[4]", "f32[1]"}}), "f32[N, 4]");
  EXPECT_EQ(known({"where", {bools({1, 0}, {2}), i64s({1, 2}), i64s({9}, {})}}), "[1, 9]");
}

TEST(Cast, converts_known_values_and_bits) {
  EXPECT_EQ(known({"cast", {f32s({2.7f, -1.2f})}, attributes({{"to", DType::i64}})}), "[2, -1]");
  EXPECT_EQ(show(run({"cast", {f32s({2.7f, 0})}, attributes({{"to", DType::boolean}})})), "bool[2](1, 0)");
  EXPECT_EQ(show(run({"cast_like", {f32s({2.7f}), tensor<std::int32_t>({0}, {1})}})), "i32[1](2)");
  EXPECT_EQ(show(run({"bit_cast", {f32s({1})}, attributes({{"to", DType::u32}})})), "u32[1](1065353216)");
  EXPECT_NE(inferred({"bit_cast", {"f32[2]"}, attributes({{"to", DType::u8}})}).find("same width"),
            std::string::npos);
}
