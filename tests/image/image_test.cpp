// Images themselves: memory, formats and names, views, orientation; convert_test.cpp has conversion.

#include <lanner/image.h>

#include <cstdint>
#include <string>

#include "expect_error.h"
#include "image/color.h"
#include "image/orientation.h"
#include "image/reference.h"

namespace lanner {
namespace {

using test::random_image;
using test::sample_at;

TEST(ImageTest, AllocationIsBounded) {
  Limits limits;
  limits.pixels = 100;
  EXPECT_NO_THROW(Image::allocate(PixelFormat::rgb24, 10, 10, limits));
  LANNER_EXPECT_ERROR(Image::allocate(PixelFormat::rgb24, 10, 11, limits), ErrorCode::limit_exceeded,
                      "pixels");
  LANNER_EXPECT_ERROR(Image::allocate(PixelFormat::rgb24, 0, 11), ErrorCode::invalid_argument, "0x11");
  LANNER_EXPECT_ERROR(Image::allocate(PixelFormat::rgb24, INT32_MAX, INT32_MAX), ErrorCode::limit_exceeded,
                      "pixels");
  const Image image = Image::allocate(PixelFormat::nv12, 7, 5);
  EXPECT_EQ(image.planes[0].pitch % 64, 0);
  EXPECT_EQ(image.planes[1].width, 4);
  EXPECT_EQ(image.planes[1].height, 3);
}

TEST(ImageTest, FormatsByName) {
  for (int i = 0; i < pixel_format_count; ++i) {
    const auto format = static_cast<PixelFormat>(i);
    EXPECT_EQ(parse_pixel_format(to_string(format)), format);
    if (const std::string name = ffmpeg_name(format); !name.empty()) {
      EXPECT_EQ(parse_pixel_format(name), format) << name;
      EXPECT_TRUE(has_ffmpeg_name(format, name)) << name;
    }
  }
  EXPECT_EQ(parse_pixel_format("YUV444_10BIT"), PixelFormat::yuv444p10msb);
  EXPECT_EQ(parse_pixel_format("yuyv422"), PixelFormat::yuv422p);
  EXPECT_EQ(parse_pixel_format("gbrp12be"), PixelFormat::gbrp12);
  EXPECT_TRUE(has_ffmpeg_name(PixelFormat::yuv420p, "yuvj420p"));
  EXPECT_FALSE(has_ffmpeg_name(PixelFormat::yuv422p, "yuyv422"));
  EXPECT_FALSE(has_ffmpeg_name(PixelFormat::rgb_planar, "gbrp"));
  LANNER_EXPECT_ERROR(parse_pixel_format("rgb23"), ErrorCode::invalid_argument, "rgb24");
}

TEST(ImageTest, ViewsOfTensors) {
  Tensor tensor = Tensor::zeros(DType::u8, {4, 6, 3});
  const Image image = Image::from_tensor(tensor, PixelFormat::bgr24);
  EXPECT_EQ(image.width, 6);
  EXPECT_EQ(image.height, 4);
  EXPECT_EQ(static_cast<const void*>(image.planes[0].data), tensor.data());
  LANNER_EXPECT_ERROR(Image::from_tensor(tensor, PixelFormat::gray8), ErrorCode::invalid_argument,
                      "[4, 6, 3]");
  const Tensor flat = Tensor::zeros(DType::u8, {4, 6});
  for (const Tensor& pixels : {flat, flat.reshaped({4, 6, 1})}) {
    const Image gray = Image::from_tensor(pixels, PixelFormat::gray8);
    EXPECT_EQ(gray.width, 6);
    EXPECT_EQ(gray.height, 4);
    EXPECT_EQ(gray.planes[0].pitch, 6);
  }
  LANNER_EXPECT_ERROR(Image::from_tensor(flat, PixelFormat::rgb24), ErrorCode::invalid_argument,
                      "expected row-major u8 [height, width, 3]");
  LANNER_EXPECT_ERROR(Image::from_tensor(Tensor::zeros(DType::f32, {4, 6, 3}), PixelFormat::rgb24),
                      ErrorCode::invalid_argument, "f32");
}

TEST(ImageTest, NamesOfColour) {
  EXPECT_EQ(transfer_name(16), "smpte2084");
  EXPECT_EQ(transfer_name(18), "arib-std-b67");
  EXPECT_EQ(primaries_name(9), "bt2020");
  EXPECT_EQ(primaries_name(2), "unspecified");
  EXPECT_EQ(transfer_name(200), "reserved");
}

TEST(ImageTest, Orientations) {
  const Image image = random_image(PixelFormat::rgb24, 5, 3, 8);
  const Image turned = oriented(image, {false, 1});
  EXPECT_EQ(turned.width, 3);
  EXPECT_EQ(turned.height, 5);
  EXPECT_EQ(sample_at(turned, 0, 2, 0), sample_at(image, 0, 0, 0)); // Clockwise: top left goes to top right.
  EXPECT_EQ(sample_at(turned, 1, 0, 4), sample_at(image, 1, 4, 2));
  EXPECT_EQ(sample_at(lanner::rotated_image(image, -3), 1, 0, 4), sample_at(turned, 1, 0, 4));
  EXPECT_EQ(lanner::rotated_image(image, 4).planes[0].data, image.planes[0].data);
  const Image mirrored = oriented(image, {true, 0});
  EXPECT_EQ(sample_at(mirrored, 2, 0, 1), sample_at(image, 2, 4, 1));
  const Image both = oriented(oriented(image, {false, 3}), {false, 1});
  EXPECT_EQ(sample_at(both, 0, 3, 2), sample_at(image, 0, 3, 2));
  const std::int32_t clockwise[9] = {0, 1 << 16, 0, -(1 << 16), 0, 0, 0, 0, 1 << 30};
  EXPECT_EQ(orientation_of(clockwise), (Orientation{false, 1}));
  const std::int32_t slanted[9] = {1 << 15, 1 << 15, 0, -(1 << 15), 1 << 15, 0, 0, 0, 1 << 30};
  EXPECT_EQ(orientation_of(slanted), Orientation{});
}

// YUV is rotated as 4:4:4 of its own depth: every luma sample keeps its value.
TEST(ImageTest, RotationKeepsDepthAndLuma) {
  for (const PixelFormat format :
       {PixelFormat::yuv420p, PixelFormat::nv12, PixelFormat::yuv420p10, PixelFormat::p010,
        PixelFormat::yuv422p12, PixelFormat::yuv444p16, PixelFormat::yuv444p10}) {
    const Image image = random_image(format, 8, 6, 9);
    const PixelFormatInfo& before = format_info(format);
    for (int turns = 1; turns < 4; ++turns) {
      const Image shown = lanner::rotated_image(image, turns), back = lanner::rotated_image(shown, 4 - turns);
      const PixelFormatInfo& after = format_info(shown.format);
      EXPECT_EQ(after.bits, before.bits) << before.name;
      EXPECT_TRUE(after.yuv && after.planes == 3 && after.chroma_x == 0 && after.chroma_y == 0) << after.name;
      EXPECT_NE(shown.color.matrix, ColorMatrix::unspecified) << "the height that determined it has changed";
      for (std::int64_t y = 0; y < 6; ++y)
        for (std::int64_t x = 0; x < 8; ++x)
          EXPECT_EQ(sample_at(back, 0, x, y), sample_at(image, 0, x, y)) << before.name << " " << turns;
    }
    if (format != PixelFormat::yuv444p10) continue;
    const Image shown = lanner::rotated_image(image, 1);
    for (int c = 0; c < 3; ++c) EXPECT_EQ(sample_at(shown, c, 5, 0), sample_at(image, c, 0, 0));
  }
}

} // namespace
} // namespace lanner
