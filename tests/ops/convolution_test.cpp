#include <fmt/format.h>
#include <gtest/gtest.h>

#include "expect_error.h"
#include "ops/node_run.h"

using namespace lanner;
using namespace lanner::test;

static Tensor ramp(Shape shape) {
  std::vector<float> values(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return f32s(values, std::move(shape));
}

TEST(Conv, infers_symbolic_sizes) {
  const auto pads = attributes({{"pads", ints({3, 3, 3, 3})}, {"strides", ints({2, 2})}});
  EXPECT_EQ(inferred({"conv", {"f32[N, 3, 224, W]", "f32[64, 3, 7, 7]"}, pads}),
            "f32[N, 64, 112, (W + 1) // 2]");
  const auto same = attributes({{"auto_pad", Attribute(std::string("SAME_UPPER"))}, {"strides", ints({2})}});
  EXPECT_EQ(inferred({"conv", {"f32[N, 4, 9]", "f32[8, 4, 3]"}, same}), "f32[N, 8, 5]");
}

TEST(Conv, refuses_what_does_not_fit) {
  EXPECT_NE(inferred({"conv", {"f32[1, 3, 8, 8]", "f32[4, 2, 3, 3]"}}).find("channel count is 3, expected 2"),
            std::string::npos);
  EXPECT_NE(inferred({"conv", {"f32[1, 2, 4, 4]", "f32[4, 2, 5, 5]"}}).find("does not fit"),
            std::string::npos);
  const auto zero = attributes({{"strides", ints({0, 1})}});
  EXPECT_NE(inferred({"conv", {"f32[1, 2, 4, 4]", "f32[4, 2, 1, 1]"}, zero}).find("strides holds 0"),
            std::string::npos);
}

TEST(Conv, sums_products_with_padding_stride_and_dilation) {
  const Tensor x = ramp({1, 1, 4, 4}), ones = f32s({1, 1, 1, 1}, {1, 1, 2, 2});
  EXPECT_EQ(show(run({"conv", {x, ones, f32s({0.5f})}, attributes({{"strides", ints({2, 2})}})})),
            "f32[1, 1, 2, 2](10.5, 18.5, 42.5, 50.5)");
  EXPECT_EQ(show(run({"conv", {x, ones}, attributes({{"dilations", ints({3, 3})}})})), "f32[1, 1, 1, 1](30)");
  const auto padded = attributes({{"pads", ints({1, 1, 0, 0})}, {"strides", ints({2, 2})}});
  EXPECT_EQ(show(run({"conv", {x, ones}, padded})), "f32[1, 1, 2, 2](0, 3, 12, 30)");
}

TEST(Conv, groups_see_their_own_channels) {
  const auto depthwise = attributes({{"group", std::int64_t{2}}});
  EXPECT_EQ(show(run({"conv", {ramp({1, 2, 3}), f32s({2, 10}, {2, 1, 1})}, depthwise})),
            "f32[1, 2, 3](0, 2, 4, 30, 40, 50)");
}

TEST(ConvTranspose, is_the_adjoint_of_conv) {
  const auto strided = attributes({{"strides", ints({2})}});
  EXPECT_EQ(show(run({"conv_transpose", {f32s({1, 2}, {1, 1, 2}), f32s({1, 10, 100}, {1, 1, 3})}, strided})),
            "f32[1, 1, 5](1, 10, 102, 20, 200)");
  const auto shaped = attributes({{"strides", ints({2})}, {"output_shape", ints({4})}});
  EXPECT_EQ(inferred({"conv_transpose", {"f32[N, 1, L]", "f32[1, 5, 3]"}, strided}), "f32[N, 5, 2*L + 1]");
  EXPECT_EQ(inferred({"conv_transpose", {"f32[N, 1, L]", "f32[1, 5, 3]"}, shaped}), "f32[N, 5, 4]");
}

static std::string transposed(AttributeMap map, const char* x = "f32[N, 1, 5]") {
  map.set("strides", std::vector<std::int64_t>{2});
  return inferred({"conv_transpose", {x, "f32[1, 1, 3]"}, std::move(map)});
}

// Sizes that onnxruntime returns or refuses.
TEST(ConvTranspose, output_shape_sets_the_size) {
  const auto asked = [](std::vector<std::int64_t> sizes) {
    return transposed(attributes({{"output_shape", ints(std::move(sizes))}}));
  };
  for (const std::int64_t size : {1, 3, 9, 11, 12})
    EXPECT_EQ(asked({size}), fmt::format("f32[N, 1, {}]", size));
  EXPECT_NE(asked({13}).find("output_shape is 13 along spatial axis 0, where windows cover 11; expected "
                             "at most 12"),
            std::string::npos);
  EXPECT_NE(asked({0}).find("output_shape holds 0, expected 1 to 2147483647"), std::string::npos);
  EXPECT_NE(asked({-1}).find("output_shape holds -1"), std::string::npos);
  EXPECT_NE(asked({4294967296}).find("output_shape holds 4294967296"), std::string::npos);
  EXPECT_NE(asked({10, 10}).find("output_shape has 2 values, expected 1"), std::string::npos);
  EXPECT_EQ(asked({7, 1, 10}), "f32[N, 1, 10]");
  EXPECT_NE(asked({7, 4, 10}).find("output_shape's channel count is 4, expected 1"), std::string::npos);
  const auto batch = attributes({{"output_shape", ints({3, 1, 10})}});
  EXPECT_NE(transposed(batch, "f32[1, 1, 5]").find("output_shape's batch is 3, expected 1"),
            std::string::npos);
  const auto more = attributes({{"output_shape", ints({10})}, {"output_padding", ints({1})}});
  EXPECT_EQ(transposed(more), "f32[N, 1, 10]");
}

TEST(ConvTranspose, refuses_attributes_that_contradict) {
  const Attribute same = std::string("SAME_UPPER");
  EXPECT_EQ(transposed(attributes({{"auto_pad", same}})), "f32[N, 1, 10]");
  EXPECT_EQ(transposed(attributes({{"auto_pad", same}, {"pads", ints({0, 0})}})), "f32[N, 1, 10]");
  EXPECT_NE(transposed(attributes({{"auto_pad", same}, {"pads", ints({1, 1})}}))
                .find("both auto_pad SAME_UPPER and pads are given, expected one"),
            std::string::npos);
  EXPECT_EQ(transposed(attributes({{"output_padding", ints({1})}})), "f32[N, 1, 12]");
  EXPECT_NE(
      transposed(attributes({{"output_padding", ints({2})}})).find("output_padding holds 2, expected 0 to 1"),
      std::string::npos);
  EXPECT_NE(transposed(attributes({{"output_padding", ints({-1})}})).find("output_padding holds -1"),
            std::string::npos);
  EXPECT_NE(transposed(attributes({{"kernel_shape", ints({4})}})).find("kernel size is 3, expected 4"),
            std::string::npos);
  EXPECT_NE(transposed(attributes({{"pads", ints({6, 6})}})).find("pads leave -1 elements of spatial axis 0"),
            std::string::npos);
}

TEST(Window, errors_show_the_value_and_both_bounds) {
  const auto pads = attributes({{"pads", ints({2147483648, 0})}});
  EXPECT_NE(inferred({"conv", {"f32[1, 1, 8]", "f32[1, 1, 3]"}, pads})
                .find("pads holds 2147483648, expected 0 to 2147483647"),
            std::string::npos);
  const auto kernel = attributes({{"kernel_shape", ints({0})}});
  EXPECT_NE(
      inferred({"max_pool", {"f32[1, 1, 8]"}, kernel}).find("kernel_shape holds 0, expected 1 to 2147483647"),
      std::string::npos);
}

TEST(QuantizedConv, subtracts_zero_points_and_rounds_to_even) {
  const Tensor x = tensor<std::uint8_t>({1, 2, 3, 4}, {1, 1, 4}), w = tensor<std::int8_t>({1, 1}, {1, 1, 2});
  EXPECT_EQ(show(run({"conv_integer", {x, w, tensor<std::uint8_t>({1}, {})}})), "i32[1, 1, 3](1, 3, 5)");
  const Tensor zero = tensor<std::uint8_t>({0}, {}), w_zero = tensor<std::int8_t>({0}, {});
  const Tensor one = f32s({1}, {}), two = f32s({2}, {});
  EXPECT_EQ(show(run({"q_linear_conv", {x, one, zero, w, one, w_zero, two, tensor<std::uint8_t>({1}, {})}})),
            "u8[1, 1, 3](3, 3, 5)");
}

TEST(DeformConv, with_whole_offsets_is_conv_elsewhere) {
  const Tensor offset = f32s({0, 0, 1, 1}, {1, 2, 1, 2}); // y offsets, then x offsets, of two positions
  EXPECT_EQ(
      show(run({"deform_conv",
                {ramp({1, 1, 1, 3}), f32s({1}, {1, 1, 1, 1}), f32s({0, 0, 0, 1, 1, 0.5f}, {1, 2, 1, 3})}})),
      "f32[1, 1, 1, 3](1, 2, 1)");
  EXPECT_THROW(run({"deform_conv", {ramp({1, 1, 1, 3}), f32s({1}, {1, 1, 1, 1}), offset}}), Error);
}
