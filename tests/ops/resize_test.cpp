#include <gtest/gtest.h>

#include "ops/node_run.h"

using namespace lanner;
using namespace lanner::test;

static AttributeMap mode(const char* mode, const char* transform = "half_pixel") {
  return attributes({{"mode", Attribute(std::string(mode))},
                     {"coordinate_transformation_mode", Attribute(std::string(transform))}});
}

TEST(Resize, infers_symbolic_sizes) {
  EXPECT_EQ(inferred({"resize", {"f32[N, 3, H, 8]", std::nullopt, f32s({1, 1, 2, 0.5f})}}),
            "f32[N, 3, 2*H, 4]");
  EXPECT_EQ(inferred({"resize", {"f32[N, 3, H, W]", std::nullopt, std::nullopt, i64s({1, 3, 5, 6})}}),
            "f32[1, 3, 5, 6]");
  auto fit = mode("nearest");
  fit.set("keep_aspect_ratio_policy", Attribute(std::string("not_larger")));
  fit.set("axes", ints({1, 2}));
  EXPECT_EQ(inferred({"resize", {"f32[N, 4, 2]", std::nullopt, std::nullopt, i64s({6, 6})}, fit}),
            "f32[N, 6, 3]");
  EXPECT_NE(inferred({"resize", {"f32[N, 4]"}}).find("none of scales and sizes"), std::string::npos);
}

TEST(Resize, repeats_and_interpolates) {
  const Tensor x = f32s({1, 3}, {1, 2}), twice = f32s({1, 2});
  EXPECT_EQ(show(run({"resize", {x, std::nullopt, twice}, mode("nearest", "asymmetric")})),
            "f32[1, 4](1, 1, 3, 3)");
  EXPECT_EQ(show(run({"resize", {x, std::nullopt, twice}, mode("linear")})), "f32[1, 4](1, 1.5, 2.5, 3)");
  EXPECT_EQ(show(run({"resize", {x, std::nullopt, f32s({1, 1.5f})}, mode("linear", "align_corners")})),
            "f32[1, 3](1, 2, 3)");
}

// The output's corners are the input's, also where 7 elements times a scale of 0.5 are 3.5.
TEST(Resize, align_corners_uses_the_number_of_output_elements) {
  const Tensor x = f32s({0, 1, 2, 3, 4, 5, 6});
  EXPECT_EQ(show(run({"resize", {x, std::nullopt, f32s({0.5f})}, mode("linear", "align_corners")})),
            "f32[3](0, 3, 6)");
  EXPECT_EQ(show(run({"resize", {x, std::nullopt, f32s({0.5f})}, mode("nearest", "align_corners")})),
            "f32[3](0, 3, 6)");
  EXPECT_EQ(show(run({"resize", {x, std::nullopt, f32s({0.2f})}, mode("cubic", "align_corners")})),
            "f32[1](0)");
}

TEST(Resize, nearest_indices_are_computed_in_f32) {
  auto floor = mode("nearest", "asymmetric");
  floor.set("nearest_mode", Attribute(std::string("floor")));
  const Tensor x = f32s({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  const Tensor y = run({"resize", {x, std::nullopt, f32s({2.7f})}, floor});
  EXPECT_EQ(y.as<float>()[26], 9);
  EXPECT_EQ(y.as<float>()[27], 10);
}

TEST(Resize, a_shrinking_antialiased_axis_averages) {
  auto smooth = mode("linear");
  smooth.set("antialias", std::int64_t{1});
  EXPECT_EQ(show(run({"resize", {f32s({0, 0, 8, 8}, {4}), std::nullopt, f32s({0.5f})}, smooth})),
            "f32[2](1, 7)");
}

TEST(Resize, positions_outside_the_input_get_the_extrapolation_value) {
  auto crop = mode("linear", "tf_crop_and_resize");
  crop.set("extrapolation_value", 9.0);
  const Tensor roi = f32s({0, 2});
  EXPECT_EQ(show(run({"resize", {f32s({1, 3}, {2}), roi, std::nullopt, i64s({3})}, crop})),
            "f32[3](1, 3, 9)");
}

TEST(GridSample, reads_the_innermost_axis_first) {
  const Tensor x = f32s({1, 2, 3, 4}, {1, 1, 2, 2}), corner = f32s({1, -1, 0, 0}, {1, 1, 2, 2});
  const auto align = attributes({{"align_corners", std::int64_t{1}}});
  EXPECT_EQ(show(run({"grid_sample", {x, corner}, align})), "f32[1, 1, 1, 2](2, 2.5)");
  EXPECT_EQ(inferred({"grid_sample", {"f32[N, C, H, W]", "f32[N, 5, 6, 2]"}}), "f32[N, C, 5, 6]");
}

// Each element beyond the edge is replaced separately; the sampling position stays: 0.75 and 1.5 before the
// first element, between elements -1 and 0, and -2 and -1.
TEST(GridSample, cubic_padding_replaces_elements_not_the_position) {
  const Tensor x = f32s({1, 2, 4, 8}, {1, 1, 4}), near = f32s({-1.125f, -1.5f}, {1, 2, 1});
  const auto cubic = [](const char* padding, std::int64_t align) {
    return attributes(
        {{"mode", std::string("cubic")}, {"padding_mode", std::string(padding)}, {"align_corners", align}});
  };
  EXPECT_EQ(show(run({"grid_sample", {x, near}, cubic("border", 0)})), "f32[1, 1, 2](0.96484375, 1)");
  EXPECT_EQ(show(run({"grid_sample", {x, near}, cubic("border", 1)})), "f32[1, 1, 2](0.9071655, 0.96484375)");
  EXPECT_EQ(show(run({"grid_sample", {x, near}, cubic("reflection", 0)})), "f32[1, 1, 2](0.859375, 1.3125)");
}

TEST(DepthToSpace, has_two_orders_and_an_inverse) {
  const Tensor x = f32s({0, 1, 2, 3, 4, 5, 6, 7}, {1, 8, 1, 1});
  auto two = attributes({{"blocksize", std::int64_t{2}}});
  const Tensor wide = run({"depth_to_space", {x}, two});
  EXPECT_EQ(show(wide), "f32[1, 2, 2, 2](0, 2, 4, 6, 1, 3, 5, 7)");
  EXPECT_EQ(show(run({"space_to_depth", {wide}, two})), show(x));
  two.set("mode", Attribute(std::string("CRD")));
  EXPECT_EQ(show(run({"depth_to_space", {x}, two})), "f32[1, 2, 2, 2](0, 1, 2, 3, 4, 5, 6, 7)");
  EXPECT_EQ(inferred({"depth_to_space", {"f32[N, 8, H, W]"}, two}), "f32[N, 2, 2*H, 2*W]");
}

TEST(CenterCropPad, crops_and_pads_different_axes) {
  EXPECT_EQ(show(run({"center_crop_pad", {f32s({1, 2, 3, 4, 5, 6}, {2, 3}), i64s({3, 1})}})),
            "f32[3, 1](2, 5, 0)");
}

TEST(Col2Im, sums_overlapping_blocks) {
  EXPECT_EQ(show(run({"col2_im", {f32s({1, 2, 3, 4}, {1, 2, 2}), i64s({3}), i64s({2})}})),
            "f32[1, 1, 3](1, 5, 4)");
}
