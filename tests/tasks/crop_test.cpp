#include <lanner/draw.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "expect_error.h"
#include "tasks/results.h"

namespace lanner {
namespace {

/// Every pixel differs from its neighbours, smoothly.
Image slope(PixelFormat format, std::int32_t width, std::int32_t height) {
  Image rgb = Image::allocate(PixelFormat::rgb24, width, height);
  for (std::int32_t y = 0; y < height; ++y)
    for (std::int32_t x = 0; x < width; ++x) {
      std::byte* at = rgb.planes[0].data + rgb.planes[0].pitch * y + 3 * x;
      at[0] = static_cast<std::byte>(x * 3 % 256);
      at[1] = static_cast<std::byte>(y * 5 % 256);
      at[2] = static_cast<std::byte>((x + y) * 2 % 256);
    }
  if (format == rgb.format) return rgb;
  Image image = Image::allocate(format, width, height);
  convert_image(rgb, image);
  return image;
}

Image to_rgb24(const Image& image) {
  Image rgb = Image::allocate(PixelFormat::rgb24, image.width, image.height);
  image.format == rgb.format ? copy_image(image, rgb) : convert_image(image, rgb);
  return rgb;
}

TEST(Crop, IsRoundedOutwards) {
  const Image picture = slope(PixelFormat::rgb24, 60, 40);
  const Image crop = crop_box(picture, boxes_result(TaskKind::detect, 60, 40, {{10.2f, 5.9f, 20.1f, 9}}), 0);
  EXPECT_EQ(crop.width, 11);
  EXPECT_EQ(crop.height, 4);
  EXPECT_EQ(crop.planes[0].data, picture.planes[0].data + picture.planes[0].pitch * 5 + 30)
      << "shares its memory";
}

TEST(Crop, EveryFormatKeepsThePixelsOfTheWholePicture) {
  // 730 rows are BT.709, the part alone would be BT.601.
  for (const std::int32_t height : {90, 730})
    for (const PixelFormat format :
         {PixelFormat::nv12, PixelFormat::yuv420p, PixelFormat::yuv422p10, PixelFormat::p010,
          PixelFormat::bgr24, PixelFormat::gray8, PixelFormat::rgb_planar}) {
      const Image picture = slope(format, 101, height);
      const Image whole = to_rgb24(picture);
      for (const Box4& box :
           std::vector<Box4>{{0, 0, 101, 90}, {33, 21, 34, 22}, {95, 81, 200, 200}, {-3, -3, 7, 5}}) {
        const Image crop = crop_box(picture, boxes_result(TaskKind::detect, 101, height, {box}), 0);
        const auto left = static_cast<std::int32_t>(std::max(0.f, box[0])),
                   top = static_cast<std::int32_t>(std::max(0.f, box[1]));
        ASSERT_EQ(crop.format, PixelFormat::rgb24);
        for (std::int32_t y = 0; y < crop.height; ++y)
          ASSERT_EQ(std::memcmp(crop.planes[0].data + crop.planes[0].pitch * y,
                                whole.planes[0].data + whole.planes[0].pitch * (y + top) + 3 * left,
                                static_cast<std::size_t>(3 * crop.width)),
                    0)
              << to_string(format) << " row " << y << " of " << box[0];
      }
    }
}

TEST(Crop, RotatedBoxIsCroppedByItsCorners) {
  const Image crop = crop_box(slope(PixelFormat::rgb24, 100, 100),
                              rotated_result(100, 100, {{50, 50, 28.2843f, 28.2843f, 0.785398f}}), 0);
  EXPECT_NEAR(crop.width, 40, 2);
  EXPECT_NEAR(crop.height, 40, 2);
}

TEST(Crop, BoxWithoutPixelsIsAnError) {
  const Image picture = slope(PixelFormat::rgb24, 60, 40);
  const auto result = boxes_result(TaskKind::detect, 60, 40,
                                   {{10, 10, 10, 20}, {70, 10, 90, 20}, {NAN, 0, 9, 9}, {20, 20, 10, 10}});
  for (const int i : {0, 1, 2, 3})
    LANNER_EXPECT_ERROR(crop_box(picture, result, i), ErrorCode::invalid_argument, "covers no pixel");
  LANNER_EXPECT_ERROR(crop_box(picture, result, 4), ErrorCode::invalid_argument, "no box 4");
  LANNER_EXPECT_ERROR(crop_box(picture, result, -1), ErrorCode::invalid_argument, "no box -1");
  LANNER_EXPECT_ERROR(crop_box(picture, classes_result(60, 40, {1}, {1}), 0), ErrorCode::invalid_argument,
                      "no boxes");
}

} // namespace
} // namespace lanner
