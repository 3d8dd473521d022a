#include <algorithm>
#include <limits>
#include <tuple>

#include <gtest/gtest.h>

#include "expect_error.h"
#include "ops/node_run.h"

using namespace lanner;
using namespace lanner::test;

static AttributeMap window(std::vector<std::int64_t> kernel, std::vector<std::int64_t> strides,
                           std::int64_t ceil_mode) {
  return attributes({{"kernel_shape", ints(std::move(kernel))},
                     {"strides", ints(std::move(strides))},
                     {"ceil_mode", ceil_mode}});
}

TEST(Pool, counts_windows) {
  EXPECT_EQ(inferred({"max_pool", {"f32[N, C, 7, 8]"}, window({3, 3}, {2, 2}, 0)}), "f32[N, C, 3, 3]");
  EXPECT_EQ(inferred({"max_pool", {"f32[N, C, 7, 8]"}, window({3, 3}, {2, 2}, 1)}), "f32[N, C, 3, 4]");
  auto valid = window({3}, {3}, 1);
  valid.set("auto_pad", Attribute(std::string("VALID")));
  EXPECT_EQ(show(run({"max_pool", {f32s({0, 1, 2, 3, 4, 5, 6}, {1, 1, 7})}, valid})),
            "f32[1, 1, 3](2, 5, 6)");
  auto padded = window({2}, {2}, 1);
  padded.set("pads", ints({0, 1}));
  EXPECT_EQ(inferred({"max_pool", {"f32[1, 1, 4]"}, padded}),
            "f32[1, 1, 2]"); // A window entirely in the padding is dropped.
}

static void expect_all(const NodeSpec& spec, float expected) {
  const Tensor y = run(spec);
  EXPECT_GT(y.elements(), 0);
  for (const float one : y.as<float>()) EXPECT_FLOAT_EQ(one, expected);
}

// For windows far larger than the picture only the taps inside it are visited.
TEST(Pool, windows_larger_than_the_picture) {
  constexpr std::int64_t size = INT32_MAX, pad = 1 << 30;
  AttributeMap wide = window({size, size}, {1, 1}, 0);
  wide.set("pads", ints({pad, pad, pad, pad}));
  const Tensor x = f32s({1, 2, 3, 4}, {1, 1, 2, 2});
  expect_all({"max_pool", {x}, wide}, 4);
  expect_all({"average_pool", {x}, wide}, 2.5F);
  wide.set("count_include_pad", Attribute(std::int64_t{1}));
  const double taps = static_cast<double>(size) * static_cast<double>(size);
  expect_all({"average_pool", {x}, wide}, static_cast<float>(10 / taps));
  wide.erase("count_include_pad");
  wide.set("p", Attribute(std::int64_t{1}));
  expect_all({"lp_pool", {x}, wide}, 10);
}

TEST(Pool, dilated_taps_inside_the_picture_are_counted) {
  AttributeMap spread = window({3}, {2}, 0);
  spread.set("dilations", ints({3}));
  spread.set("pads", ints({4, 4}));
  // Taps of window p are at 2p - 4, 2p - 1, 2p + 2.
  EXPECT_EQ(show(run({"average_pool", {f32s({1, 2, 4, 8, 16}, {1, 1, 5})}, spread})),
            "f32[1, 1, 4](4, 9, 4.5, 4)");
  spread.set("count_include_pad", Attribute(std::int64_t{1}));
  EXPECT_EQ(show(run({"average_pool", {f32s({3, 6, 12, 24, 48}, {1, 1, 5})}, spread})),
            "f32[1, 1, 4](4, 18, 9, 4)");
}

TEST(MaxPool, indices_refer_to_the_whole_tensor) {
  const NodeSpec spec{"max_pool", {f32s({1, 5, 2, 9, 9, 0}, {1, 2, 3})}, window({2}, {1}, 0), 2};
  const std::vector<Tensor> found = run_all(spec);
  EXPECT_EQ(show(found[0]), "f32[1, 2, 2](5, 5, 9, 9)");
  EXPECT_EQ(show(found[1]), "i64[1, 2, 2](1, 1, 3, 4)");
}

TEST(MaxPool, window_of_smallest_numbers_gives_the_first_index) {
  const float inf = std::numeric_limits<float>::infinity();
  const NodeSpec infinite{"max_pool", {f32s({-inf, -inf, -inf}, {1, 1, 3})}, window({2}, {1}, 0), 2};
  EXPECT_EQ(show(run_all(infinite)[0]), "f32[1, 1, 2](-inf, -inf)");
  EXPECT_EQ(show(run_all(infinite)[1]), "i64[1, 1, 2](0, 1)");
  const NodeSpec bytes{
      "max_pool", {tensor<std::int8_t>({-128, -128, -128}, {1, 1, 3})}, window({2}, {1}, 0), 2};
  EXPECT_EQ(show(run_all(bytes)[1]), "i64[1, 1, 2](0, 1)");
}

TEST(MaxPool, of_a_nan_is_nan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = f32s({5, nan, 2, 3, nan, nan}, {1, 1, 6});
  const NodeSpec places{"max_pool", {x}, window({2}, {1}, 0), 2};
  EXPECT_EQ(show(run_all(places)[0]), "f32[1, 1, 5](nan, nan, 3, nan, nan)");
  EXPECT_EQ(show(run_all(places)[1]), "i64[1, 1, 5](1, 1, 3, 4, 4)");
  EXPECT_EQ(show(run({"max_pool", {x}, window({2}, {1}, 0)})), "f32[1, 1, 5](nan, nan, 3, nan, nan)");
  EXPECT_EQ(show(run({"global_max_pool", {x}})), "f32[1, 1, 1](nan)");
}

TEST(AveragePool, positions_without_elements_are_not_counted) {
  const Tensor x = Tensor::allocate(DType::f32, {0, 1, std::int64_t{1} << 40});
  EXPECT_EQ(show(run({"average_pool", {x}, window({2}, {1}, 0)})), "f32[0, 1, 1099511627775]()");
}

TEST(AveragePool, padding_counts_only_with_count_include_pad) {
  auto spec = window({2}, {2}, 0);
  spec.set("pads", ints({1, 1}));
  EXPECT_EQ(show(run({"average_pool", {f32s({2, 4, 6, 8}, {1, 1, 4})}, spec})), "f32[1, 1, 3](2, 5, 8)");
  spec.set("count_include_pad", std::int64_t{1});
  EXPECT_EQ(show(run({"average_pool", {f32s({2, 4, 6, 8}, {1, 1, 4})}, spec})), "f32[1, 1, 3](1, 5, 4)");
}

TEST(GlobalPool, folds_planes) {
  const Tensor x = f32s({3, 4, 6, 8}, {1, 2, 2});
  EXPECT_EQ(show(run({"global_average_pool", {x}})), "f32[1, 2, 1](3.5, 7)");
  EXPECT_EQ(show(run({"global_max_pool", {x}})), "f32[1, 2, 1](4, 8)");
  EXPECT_EQ(show(run({"global_lp_pool", {x}})), "f32[1, 2, 1](5, 10)");
  EXPECT_EQ(inferred({"global_max_pool", {"f32[N, 8, H, W]"}}), "f32[N, 8, 1, 1]");
}

TEST(MaxUnpool, puts_values_back) {
  const auto kernel = attributes({{"kernel_shape", ints({2})}, {"strides", ints({2})}});
  EXPECT_EQ(show(run({"max_unpool", {f32s({5, 7}, {1, 1, 2}), i64s({1, 2}, {1, 1, 2})}, kernel})),
            "f32[1, 1, 4](0, 5, 7, 0)");
  EXPECT_THROW(run({"max_unpool", {f32s({5, 7}, {1, 1, 2}), i64s({1, 4}, {1, 1, 2})}, kernel}), Error);
}

// As max_pool indexed its input, whose shape this is.
TEST(MaxUnpool, indices_refer_to_the_given_output_shape) {
  const auto kernel = attributes({{"kernel_shape", ints({2})}, {"strides", ints({2})}});
  const Tensor values = f32s({5, 7, 6, 8}, {1, 2, 2}), shape = i64s({1, 2, 5});
  EXPECT_EQ(show(run({"max_unpool", {values, i64s({1, 3, 5, 8}, {1, 2, 2}), shape}, kernel})),
            "f32[1, 2, 5](0, 5, 0, 7, 0, 6, 0, 0, 8, 0)");
  EXPECT_THROW(run({"max_unpool", {values, i64s({1, 3, 5, 10}, {1, 2, 2}), shape}, kernel}), Error);
}

TEST(RoiPool, invalid_image_numbers_are_refused) {
  const auto shape = attributes({{"pooled_shape", ints({1, 1})}});
  const Tensor x = f32s({1, 2, 3, 4}, {1, 1, 2, 2});
  EXPECT_EQ(show(run({"max_roi_pool", {x, f32s({0, 0, 0, 1, 0}, {1, 5})}, shape})), "f32[1, 1, 1, 1](2)");
  EXPECT_THROW(run({"max_roi_pool", {x, f32s({1, 0, 0, 1, 0}, {1, 5})}, shape}), Error);
}

TEST(Regions, largest_of_a_nan_is_nan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto pooled = attributes({{"pooled_shape", ints({1, 1})}});
  const auto aligned = attributes({{"mode", std::string("max")}, {"sampling_ratio", std::int64_t{2}}});
  for (std::size_t place = 0; place < 4; ++place) {
    std::vector<float> pixels{1, 2, 3, 4};
    pixels[place] = nan;
    const Tensor x = f32s(pixels, {1, 1, 2, 2});
    EXPECT_EQ(show(run({"max_roi_pool", {x, f32s({0, 0, 0, 1, 1}, {1, 5})}, pooled})),
              "f32[1, 1, 1, 1](nan)");
    EXPECT_EQ(show(run({"roi_align", {x, f32s({0, 0, 2, 2}, {1, 4}), i64s({0})}, aligned})),
              "f32[1, 1, 1, 1](nan)");
  }
}

TEST(Regions, nan_coordinates_are_outside) {
  const float none = std::numeric_limits<float>::quiet_NaN(), far = std::numeric_limits<float>::infinity();
  const Tensor x = f32s({1, 2, 3, 4}, {1, 1, 2, 2});
  for (const std::int64_t ratio : {0, 2})
    for (const std::vector<float>& box :
         {std::vector<float>{none, none, none, none}, {0, none, 1, 1}, {far, 0, far, 1}})
      EXPECT_EQ(
          show(
              run({"roi_align", {x, f32s(box, {1, 4}), i64s({0})}, attributes({{"sampling_ratio", ratio}})})),
          "f32[1, 1, 1, 1](0)");
  const auto pooled = attributes({{"pooled_shape", ints({1, 1})}});
  EXPECT_EQ(show(run({"max_roi_pool", {x, f32s({0, none, 0, 1, 1}, {1, 5})}, pooled})), "f32[1, 1, 1, 1](0)");
  EXPECT_THROW(run({"max_roi_pool", {x, f32s({none, 0, 0, 1, 1}, {1, 5})}, pooled}), Error);
}

/// One value of roi_align, computed pixel by pixel as in ONNX, for samples inside the plane.
static float aligned(const float* plane, std::int64_t size, const float* box, std::int64_t bin,
                     bool average) {
  constexpr std::int64_t bins = 2, samples = 3;
  const auto place = [&](float first, float last, std::int64_t at, std::int64_t sample) {
    const double extent = (static_cast<double>(last) - static_cast<double>(first)) / bins;
    return static_cast<double>(first) - 0.5 + static_cast<double>(at) * extent +
           (static_cast<double>(sample) + 0.5) * extent / samples;
  };
  double sum = 0, most = -std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < samples * samples; ++i) {
    const double y = place(box[1], box[3], bin / bins, i / samples),
                 x = place(box[0], box[2], bin % bins, i % samples);
    const auto top = static_cast<std::int64_t>(y), left = static_cast<std::int64_t>(x);
    const double dy = y - static_cast<double>(top), dx = x - static_cast<double>(left);
    for (const auto& [row, column, share] :
         {std::tuple{top, left, (1 - dy) * (1 - dx)}, std::tuple{top, left + 1, (1 - dy) * dx},
          std::tuple{top + 1, left, dy * (1 - dx)}, std::tuple{top + 1, left + 1, dy * dx}}) {
      sum += share * static_cast<double>(plane[row * size + column]);
      most = std::max(most, share * static_cast<double>(plane[row * size + column]));
    }
  }
  return static_cast<float>(average ? sum / (samples * samples) : most);
}

TEST(RoiAlign, samples_each_channel_of_each_image) {
  constexpr std::int64_t channels = 11, size = 9; // not a multiple of the vector size
  std::vector<float> pixels;
  for (std::int64_t i = 0; i < 2 * channels * size * size; ++i)
    pixels.push_back(static_cast<float>(i * 2654435761 % 1009) / 64 - 5);
  const std::vector<float> boxes{1, 1, 7, 8, 2.5F, 0.75F, 3, 6, 0.5F, 0.5F, 8.25F, 1.25F};
  const std::vector<std::int64_t> images{1, 0, 1};
  for (const bool average : {true, false}) {
    std::vector<float> expected;
    for (std::size_t region = 0; region < images.size(); ++region)
      for (std::int64_t i = 0; i < channels * 4; ++i)
        expected.push_back(aligned(pixels.data() + (images[region] * channels + i / 4) * size * size, size,
                                   boxes.data() + region * 4, i % 4, average));
    const Tensor found = run({"roi_align",
                              {f32s(pixels, {2, channels, size, size}), f32s(boxes, {3, 4}), i64s(images)},
                              attributes({{"mode", std::string(average ? "avg" : "max")},
                                          {"output_height", std::int64_t{2}},
                                          {"output_width", std::int64_t{2}},
                                          {"sampling_ratio", std::int64_t{3}}})});
    EXPECT_TRUE(std::ranges::equal(found.as<float>(), expected)) << show(found);
  }
}
