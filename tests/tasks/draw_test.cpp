#include <lanner/draw.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "expect_error.h"
#include "tasks/draw/palette.h"
#include "tasks/results.h"

namespace lanner {
namespace {

using Rgb = std::array<int, 3>;

Image plain(std::int32_t width, std::int32_t height, int level = 40) {
  Image image = Image::allocate(PixelFormat::rgb24, width, height);
  for (std::int32_t y = 0; y < height; ++y)
    std::fill_n(image.planes[0].data + image.planes[0].pitch * y, 3 * width, static_cast<std::byte>(level));
  return image;
}

Rgb pixel(const Image& image, std::int32_t x, std::int32_t y) {
  const std::byte* at = image.planes[0].data + image.planes[0].pitch * y + 3 * x;
  return {std::to_integer<int>(at[0]), std::to_integer<int>(at[1]), std::to_integer<int>(at[2])};
}

Rgb bytes_of(Color color) {
  return {static_cast<int>(color.red), static_cast<int>(color.green), static_cast<int>(color.blue)};
}

/// The colour blended over gray with an opacity.
Rgb mixed(Color color, int gray, double share) {
  Rgb result = bytes_of(color);
  for (int& part : result) part = static_cast<int>(std::lround(gray + (part - gray) * share));
  return result;
}

int changed(const Image& a, const Image& b) {
  int count = 0;
  for (std::int32_t y = 0; y < a.height; ++y)
    for (std::int32_t x = 0; x < a.width; ++x) count += pixel(a, x, y) != pixel(b, x, y) ? 1 : 0;
  return count;
}

DrawOptions without_labels() {
  DrawOptions options;
  options.labels = false;
  options.line_width = 3; // whole pixels on both sides of an edge
  return options;
}

DrawOptions with_labels() {
  DrawOptions options = without_labels();
  options.labels = true;
  return options;
}

TEST(Draw, BoxesAreOutlinedInTheirClassColor) {
  const Image picture = plain(200, 160);
  const Image drawn = draw_result(picture, boxes_result(TaskKind::detect, 200, 160, {{20, 30, 120, 130}}), {},
                                  without_labels());
  EXPECT_EQ(pixel(drawn, 20, 80), bytes_of(class_color(0)));
  EXPECT_EQ(pixel(drawn, 70, 30), bytes_of(class_color(0)));
  EXPECT_EQ(pixel(drawn, 119, 80), bytes_of(class_color(0)));
  EXPECT_EQ(pixel(drawn, 70, 80), (Rgb{40, 40, 40}));
  EXPECT_EQ(pixel(drawn, 10, 80), (Rgb{40, 40, 40}));
  EXPECT_EQ(changed(picture, plain(200, 160)), 0) << "the original picture is unchanged";
}

TEST(Draw, LineWidthFollowsTheOption) {
  DrawOptions options = without_labels();
  options.line_width = 9;
  const Image drawn = draw_result(
      plain(200, 160), boxes_result(TaskKind::detect, 200, 160, {{20, 30, 120, 130}}), {}, options);
  for (const int x : {16, 20, 23}) EXPECT_EQ(pixel(drawn, x, 80), bytes_of(class_color(0))) << x;
  EXPECT_EQ(pixel(drawn, 27, 80), (Rgb{40, 40, 40}));
}

TEST(Draw, BetterBoxIsDrawnOnTop) {
  const Image drawn = draw_result(
      plain(100, 100), boxes_result(TaskKind::detect, 100, 100, {{20, 20, 80, 80}, {20, 20, 80, 80}}), {},
      without_labels());
  EXPECT_EQ(pixel(drawn, 20, 50), bytes_of(class_color(0)));
}

TEST(Draw, LabelsAreAboveTheBoxAndInsideThePicture) {
  Task task;
  task.labels = {"I"};
  const auto result = boxes_result(TaskKind::detect, 200, 160, {{50, 60, 150, 120}});
  const Image with = draw_result(plain(200, 160), result, task, with_labels());
  const Image without = draw_result(plain(200, 160), result, task, without_labels());
  for (std::int32_t y = 0; y < 160; ++y)
    for (std::int32_t x = 0; x < 200; ++x)
      if (pixel(with, x, y) != pixel(without, x, y)) {
        ASSERT_TRUE(y >= 40 && y < 61 && x >= 45 && x < 100) << x << ", " << y;
      }
  EXPECT_GT(changed(with, without), 300);
  // Without space above, it is below.
  const auto high = boxes_result(TaskKind::detect, 200, 160, {{50, 2, 150, 120}});
  const Image drawn = draw_result(plain(200, 160), high, task, with_labels());
  EXPECT_GT(changed(drawn, draw_result(plain(200, 160), high, task, without_labels())), 300);
}

TEST(Draw, LabelsOfCoincidingBoxesDoNotOverlap) {
  Task task;
  task.labels = {"one", "two"};
  const Image drawn = draw_result(
      plain(300, 300), boxes_result(TaskKind::detect, 300, 300, {{100, 100, 200, 200}, {100, 100, 200, 200}}),
      task);
  int first = 0, second = 0;
  for (std::int32_t y = 0; y < 300; ++y)
    for (std::int32_t x = 0; x < 300; ++x) {
      first += pixel(drawn, x, y) == mixed(class_color(0), 40, 0.86) ? 1 : 0;
      second += pixel(drawn, x, y) == mixed(class_color(1), 40, 0.86) ? 1 : 0;
    }
  EXPECT_GT(first, 100);
  EXPECT_GT(second, 100);
}

TEST(Draw, BoxesOutsideThePictureAreClipped) {
  const float far = 1e30f, nan = std::numeric_limits<float>::quiet_NaN();
  const Image picture = plain(64, 48);
  for (const Box4& box : std::vector<Box4>{{-far, -far, far, far},
                                           {-50, -50, -20, -20},
                                           {nan, 1, 9, 9},
                                           {30, 30, 10, 10},
                                           {-10, 20, 100, 20},
                                           {0, 0, INFINITY, 9}})
    for (const TaskKind kind : {TaskKind::detect, TaskKind::obb}) {
      const auto result = kind == TaskKind::detect
                              ? boxes_result(kind, 64, 48, {box})
                              : rotated_result(64, 48, {{box[0], box[1], box[2], box[3], box[0]}});
      EXPECT_EQ(draw_result(picture, result, {}).width, 64);
    }
}

TEST(Draw, ExtremeCoordinatesDoNotCrash) {
  std::mt19937 random(11);
  const auto number = [&] {
    const auto bits = static_cast<std::uint32_t>(random());
    return random() % 3 == 0 ? std::bit_cast<float>(bits) : static_cast<float>(bits % 9000) / 60 - 50;
  };
  for (int round = 0; round < 600; ++round) {
    const auto width = static_cast<std::int32_t>(1 + random() % 60),
               height = static_cast<std::int32_t>(1 + random() % 40);
    DrawOptions options;
    if (round % 4 == 0) options.line_width = static_cast<float>(random() % 1000);
    const Image picture = plain(width, height);
    const Box4 box{number(), number(), number(), number()};
    EXPECT_EQ(
        draw_result(picture, boxes_result(TaskKind::detect, width, height, {box, box}), {}, options).width,
        width);
    auto turned = rotated_result(width, height, {{number(), number(), number(), number(), number()}});
    turned.scores.as<float>()[0] = number();
    turned.labels.as<std::int64_t>()[0] = static_cast<std::int64_t>(random()) - (std::int64_t{1} << 31);
    EXPECT_EQ(draw_result(picture, turned, {}, options).width, width);
    auto pose = boxes_result(TaskKind::pose, width, height, {box});
    std::vector<float> points;
    for (int i = 0; i < 51; ++i) points.push_back(i % 3 == 2 ? 1 : number());
    pose.keypoints = Tensor::from<float>(points, {1, 17, 3});
    EXPECT_EQ(draw_result(picture, pose, {}, options).width, width);
    auto masks =
        masks_result(width, height,
                     {mask_of(static_cast<std::int32_t>(random() % static_cast<unsigned>(width)), 0, {"#"})});
    EXPECT_EQ(draw_result(picture, masks, {}, options).width, width);
    auto depth = result_of(TaskKind::depth, width, height);
    depth.depth = Tensor::zeros(DType::f32, {height, width});
    for (float& value : depth.depth.as<float>()) value = number();
    EXPECT_EQ(draw_result(picture, depth, {}, options).width, width);
  }
}

TEST(Draw, OnePixelPicturesAreDrawn) {
  const Image picture = plain(1, 1);
  EXPECT_EQ(draw_result(picture, boxes_result(TaskKind::detect, 1, 1, {{0, 0, 1, 1}}), {}).width, 1);
  EXPECT_EQ(draw_result(picture, classes_result(1, 1, {3}, {0.5f}), {}).width, 1);
  EXPECT_EQ(draw_result(picture, masks_result(1, 1, {mask_of(0, 0, {"#"})}), {}).width, 1);
  EXPECT_EQ(draw_result(picture, rotated_result(1, 1, {{0.5f, 0.5f, 1, 1, 0.3f}}), {}).width, 1);
  auto depth = result_of(TaskKind::depth, 1, 1);
  depth.depth = Tensor::from<float>(std::vector<float>{3}, {1, 1});
  EXPECT_EQ(pixel(draw_result(picture, depth, {}), 0, 0), (Rgb{0, 0, 4}));
}

TEST(Draw, EmptyResultLeavesThePictureUnchanged) {
  const Image picture = plain(30, 20);
  for (const TaskKind kind : {TaskKind::detect, TaskKind::segment}) {
    EXPECT_EQ(changed(picture, draw_result(picture, boxes_result(kind, 30, 20, {}), {})), 0);
  }
  EXPECT_EQ(changed(picture, draw_result(picture, rotated_result(30, 20, {}), {})), 0);
  EXPECT_EQ(changed(picture, draw_result(picture, classes_result(30, 20, {}, {}), {})), 0);
}

TEST(Draw, EveryFormatBecomesRgb) {
  const auto result = boxes_result(TaskKind::detect, 64, 48, {{10, 10, 50, 40}});
  for (const PixelFormat format :
       {PixelFormat::gray8, PixelFormat::bgr24, PixelFormat::rgba32, PixelFormat::nv12, PixelFormat::yuv420p,
        PixelFormat::p010, PixelFormat::yuv444p12, PixelFormat::rgb_planar, PixelFormat::rgb48}) {
    Image picture = Image::allocate(format, 64, 48);
    convert_image(plain(64, 48, 90), picture);
    const Image drawn = draw_result(picture, result, {}, without_labels());
    EXPECT_EQ(drawn.format, PixelFormat::rgb24);
    EXPECT_NEAR(pixel(drawn, 30, 25)[1], 90, 1) << to_string(format);
    EXPECT_EQ(pixel(drawn, 10, 25), bytes_of(class_color(0))) << to_string(format);
  }
}

TEST(Draw, MasksAreBlendedOverTheirObjects) {
  Mask mask{{20, 10, 60, 60}, Tensor::zeros(DType::u8, {60, 60})};
  for (int y = 10; y < 50; ++y)
    for (int x = 10; x < 50; ++x) mask.inside.as<std::uint8_t>()[static_cast<std::size_t>(y * 60 + x)] = 1;
  const auto result = masks_result(100, 80, {mask});
  const Image drawn = draw_result(plain(100, 80), result, {}, without_labels());
  EXPECT_EQ(pixel(drawn, 50, 40), mixed(class_color(0), 40, 0.5));
  EXPECT_EQ(pixel(drawn, 25, 40), (Rgb{40, 40, 40}));
  EXPECT_NE(pixel(drawn, 30, 40), pixel(drawn, 50, 40)) << "its outline";
  DrawOptions opaque = without_labels();
  opaque.opacity = 1;
  EXPECT_EQ(pixel(draw_result(plain(100, 80), result, {}, opaque), 50, 40), bytes_of(class_color(0)));
}

TEST(Draw, MasksHaveNoOutlineAtThePictureEdge) {
  Mask mask{{0, 0, 40, 30}, Tensor::zeros(DType::u8, {30, 40})};
  for (std::uint8_t& inside : mask.inside.as<std::uint8_t>()) inside = 1;
  TaskResult result = masks_result(40, 30, {mask});
  result.boxes = Tensor::from<float>(std::vector<float>{-90, -90, 130, 120}, {1, 4});
  const Image drawn = draw_result(plain(40, 30), result, {}, without_labels());
  EXPECT_EQ(pixel(drawn, 0, 0), mixed(class_color(0), 40, 0.5));
  EXPECT_EQ(pixel(drawn, 39, 29), mixed(class_color(0), 40, 0.5));
}

TEST(Draw, ThinMasksAreVisible) {
  const Image drawn = draw_result(
      plain(40, 30), masks_result(40, 30, {mask_of(5, 5, {"....................", "####################"})}),
      {}, without_labels());
  const Rgb color = bytes_of(class_color(0));
  for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(pixel(drawn, 15, 6)[c], color[c], 25);
}

TEST(Draw, SemanticClassesHaveTheirColors) {
  auto result = result_of(TaskKind::semantic, 40, 20);
  result.classes = Tensor::zeros(DType::i32, {20, 40});
  const auto classes = result.classes.as<std::int32_t>();
  for (std::size_t i = 0; i < classes.size(); ++i) classes[i] = i % 40 < 20 ? 0 : i % 40 < 30 ? 3 : -1;
  Task task;
  const Image all = draw_result(plain(40, 20), result, task, without_labels());
  EXPECT_EQ(pixel(all, 3, 3), mixed(class_color(0), 40, 0.5));
  EXPECT_EQ(pixel(all, 22, 3), mixed(class_color(3), 40, 0.5));
  EXPECT_EQ(pixel(all, 35, 3), (Rgb{40, 40, 40})) << "no class";
  task.background = 0;
  EXPECT_EQ(pixel(draw_result(plain(40, 20), result, task, without_labels()), 3, 3), (Rgb{40, 40, 40}));
  task.background.reset();
  task.labels = {"background", "sky"};
  EXPECT_EQ(pixel(draw_result(plain(40, 20), result, task, without_labels()), 3, 3), (Rgb{40, 40, 40}));
  EXPECT_GT(changed(draw_result(plain(40, 20), result, task),
                    draw_result(plain(40, 20), result, task, without_labels())),
            20)
      << "a panel names the classes";
}

TEST(Draw, DepthIsColoredOverItsFiniteRange) {
  auto result = result_of(TaskKind::depth, 4, 2);
  result.depth = Tensor::from<float>(std::vector<float>{2, 4, 3, NAN, INFINITY, -INFINITY, 2, 4}, {2, 4});
  Task task;
  for (const auto& [name, least, most] : {std::tuple{"magma", Rgb{0, 0, 4}, Rgb{252, 253, 191}},
                                          {"viridis", Rgb{68, 1, 84}, Rgb{253, 231, 37}},
                                          {"turbo", Rgb{48, 18, 59}, Rgb{122, 4, 3}},
                                          {"gray", Rgb{0, 0, 0}, Rgb{255, 255, 255}},
                                          {"", Rgb{0, 0, 4}, Rgb{252, 253, 191}}}) {
    task.color_map = name;
    const Image drawn = draw_result(plain(4, 2), result, task);
    EXPECT_EQ(pixel(drawn, 0, 0), least) << name;
    EXPECT_EQ(pixel(drawn, 1, 0), most) << name;
    EXPECT_EQ(pixel(drawn, 3, 0), (Rgb{40, 40, 40})) << "not finite";
    EXPECT_EQ(pixel(drawn, 0, 1), (Rgb{40, 40, 40}));
  }
  DrawOptions half;
  half.opacity = 0.5f;
  task.color_map = "gray";
  EXPECT_EQ(pixel(draw_result(plain(4, 2), result, task, half), 1, 0), (Rgb{148, 148, 148}));
  task.color_map = "jet";
  LANNER_EXPECT_ERROR(draw_result(plain(4, 2), result, task), ErrorCode::invalid_argument, "magma, viridis");
}

TEST(Draw, DepthOfOneValueNoValueOrTheWholeFloatRange) {
  auto result = result_of(TaskKind::depth, 3, 1);
  Task task;
  task.color_map = "gray";
  const auto drawn = [&](std::vector<float> values) {
    result.depth = Tensor::from<float>(values, {1, 3});
    const Image image = draw_result(plain(3, 1), result, task);
    return std::array{pixel(image, 0, 0)[0], pixel(image, 1, 0)[0], pixel(image, 2, 0)[0]};
  };
  EXPECT_EQ(drawn({7, 7, 7}), (std::array{0, 0, 0}));
  EXPECT_EQ(drawn({NAN, NAN, INFINITY}), (std::array{40, 40, 40}));
  constexpr float largest = std::numeric_limits<float>::max();
  EXPECT_EQ(drawn({-largest, 0, largest}), (std::array{0, 128, 255}));
  constexpr float least = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(drawn({0, 0, least})[0], 0);
}

TEST(Draw, ImageResultIsItsOwnDrawing) {
  auto result = result_of(TaskKind::image, 20, 20);
  result.image = plain(50, 30, 77);
  const Image drawn = draw_result(plain(20, 20), result, {});
  EXPECT_EQ(drawn.width, 50);
  EXPECT_EQ(pixel(drawn, 49, 29), (Rgb{77, 77, 77}));
  EXPECT_NE(drawn.planes[0].data, result.image.planes[0].data);
  result.image = {};
  LANNER_EXPECT_ERROR(draw_result(plain(20, 20), result, {}), ErrorCode::invalid_argument, "no image");
}

TaskResult pose_of(float confidence) {
  auto result = boxes_result(TaskKind::pose, 200, 200, {{20, 20, 180, 180}});
  std::vector<float> points;
  for (int p = 0; p < 17; ++p) {
    points.push_back(30.f + 8 * static_cast<float>(p));
    points.push_back(p == 5 || p == 6 ? 60.f : 120.f);
    points.push_back(p == 5 || p == 6 ? 0.9f : confidence);
  }
  result.keypoints = Tensor::from<float>(points, {1, 17, 3});
  return result;
}

TEST(Draw, VisibleKeyPointsAreJoined) {
  const Image drawn = draw_result(plain(200, 200), pose_of(0.1f), {}, without_labels());
  EXPECT_EQ(pixel(drawn, 70, 60), bytes_of(class_color(0))) << "the left shoulder";
  EXPECT_EQ(pixel(drawn, 78, 60), bytes_of(class_color(1))) << "the right shoulder";
  EXPECT_NE(pixel(drawn, 74, 60), (Rgb{40, 40, 40})) << "the line between";
  EXPECT_EQ(pixel(drawn, 94, 120), (Rgb{40, 40, 40})) << "a point that is not seen";
  EXPECT_NE(pixel(draw_result(plain(200, 200), pose_of(0.5f), {}, without_labels()), 94, 120),
            (Rgb{40, 40, 40}));
}

TEST(Draw, TaskSkeletonIsUsed) {
  auto result = boxes_result(TaskKind::pose, 100, 100, {{5, 5, 95, 95}});
  result.keypoints = Tensor::from<float>(std::vector<float>{20, 50, 1, 80, 50, 1}, {1, 2, 3});
  Task task;
  EXPECT_EQ(pixel(draw_result(plain(100, 100), result, task, without_labels()), 50, 50), (Rgb{40, 40, 40}));
  task.skeleton = {{0, 1}, {0, 7}, {-1, 0}};
  EXPECT_NE(pixel(draw_result(plain(100, 100), result, task, without_labels()), 50, 50), (Rgb{40, 40, 40}));
}

TEST(Draw, RotatedBoxesAreDrawnByTheirCorners) {
  // A square on its tip.
  const Image drawn =
      draw_result(plain(100, 100), rotated_result(100, 100, {{50, 50, 42.4264f, 42.4264f, 0.785398f}}), {},
                  without_labels());
  EXPECT_EQ(pixel(drawn, 35, 35), bytes_of(class_color(0)));
  EXPECT_EQ(pixel(drawn, 64, 35), bytes_of(class_color(0)));
  EXPECT_EQ(pixel(drawn, 50, 50), (Rgb{40, 40, 40}));
  EXPECT_EQ(pixel(drawn, 30, 30), (Rgb{40, 40, 40}));
}

TEST(Draw, PositiveAngleIsClockwise) {
  const Image drawn = draw_result(plain(100, 100), rotated_result(100, 100, {{50, 50, 60, 0, 0.5236f}}), {},
                                  without_labels());
  EXPECT_NE(pixel(drawn, 70, 61), (Rgb{40, 40, 40})) << "the right end goes down";
  EXPECT_EQ(pixel(drawn, 70, 38), (Rgb{40, 40, 40}));
}

TEST(Draw, ClassesAreDrawnAsAPanel) {
  Task task;
  task.labels = {"cat", "dog"};
  const Image drawn =
      draw_result(plain(300, 200), classes_result(300, 200, {1, 0, 9}, {0.7f, 0.2f, NAN}), task);
  EXPECT_GT(changed(plain(300, 200), drawn), 2000);
  EXPECT_EQ(pixel(drawn, 295, 195), (Rgb{40, 40, 40}));
}

TEST(Draw, LabelsOfAnyBytesAreDrawn) {
  Task task;
  for (const std::string& label :
       std::vector<std::string>{"", "\xff\xfe\xc3", "a\nb\tc", std::string(100'000, 'w'),
                                "\xe2\x80\xae reversed", "\xf0\x9f\x98\x80", std::string("nul\0nul", 7),
                                "\xd8\xa7\xd9\x84", "\xed\xa0\x80", "\xe4\xb8\xad\xe6\x96\x87"}) {
    task.labels = {label};
    EXPECT_EQ(
        draw_result(plain(90, 60), boxes_result(TaskKind::detect, 90, 60, {{10, 30, 80, 50}}), task).width,
        90);
    EXPECT_EQ(draw_result(plain(90, 60), classes_result(90, 60, {0}, {1}), task).width, 90);
  }
}

TEST(Draw, ResultsThatCannotBeDrawnAreErrors) {
  EXPECT_FALSE(can_draw(TaskKind::none));
  EXPECT_FALSE(can_draw(TaskKind::embed));
  EXPECT_TRUE(can_draw(TaskKind::semantic));
  const Image picture = plain(30, 20);
  LANNER_EXPECT_ERROR(draw_result(picture, result_of(TaskKind::embed, 30, 20), {}),
                      ErrorCode::invalid_argument, "embed cannot be drawn");
  LANNER_EXPECT_ERROR(draw_result(picture, result_of(TaskKind::detect, 30, 20), {}),
                      ErrorCode::invalid_argument, "labels is missing");
  LANNER_EXPECT_ERROR(draw_result(picture, boxes_result(TaskKind::detect, 31, 20, {}), {}),
                      ErrorCode::invalid_argument, "31x20");
  LANNER_EXPECT_ERROR(draw_result({}, boxes_result(TaskKind::detect, 31, 20, {}), {}),
                      ErrorCode::invalid_argument, "no image was given");
  auto short_boxes = boxes_result(TaskKind::detect, 30, 20, {{1, 2, 3, 4}});
  short_boxes.boxes = Tensor::zeros(DType::f32, {1, 3});
  LANNER_EXPECT_ERROR(draw_result(picture, short_boxes, {}), ErrorCode::invalid_argument,
                      "expected f32[1, 4]");
  LANNER_EXPECT_ERROR(draw_result(picture, masks_result(30, 20, {mask_of(29, 0, {"##"})}), {}),
                      ErrorCode::invalid_argument, "mask 0 is at (29, 0)");
  DrawOptions options;
  options.opacity = 1.5f;
  LANNER_EXPECT_ERROR(draw_result(picture, boxes_result(TaskKind::detect, 30, 20, {}), {}, options),
                      ErrorCode::invalid_argument, "opacity 1.5");
  options = {};
  options.line_width = NAN;
  LANNER_EXPECT_ERROR(draw_result(picture, boxes_result(TaskKind::detect, 30, 20, {}), {}, options),
                      ErrorCode::invalid_argument, "line width");
}

} // namespace
} // namespace lanner
