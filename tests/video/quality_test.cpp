// PSNR and SSIM of two images.

#include "video/write/quality.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

namespace lanner {
namespace {

Image gray(int value, std::int32_t width = 32, std::int32_t height = 24) {
  Image image = Image::allocate(PixelFormat::gray8, width, height);
  for (std::int32_t y = 0; y < height; ++y)
    std::memset(image.planes[0].data + y * image.planes[0].pitch, value, static_cast<std::size_t>(width));
  return image;
}

} // namespace

TEST(Quality, EqualImagesAreInfinitelyClose) {
  const FrameQuality quality = compare_pictures(gray(90), gray(90));
  EXPECT_TRUE(std::isinf(quality.psnr_all));
  EXPECT_EQ(quality.ssim_all, 1);
}

TEST(Quality, FlatImagesHaveThePublishedValues) {
  const FrameQuality quality = compare_pictures(gray(100), gray(110));
  EXPECT_NEAR(quality.psnr_all, 10 * std::log10(255.0 * 255 / 100), 1e-9);
  const double c1 = 0.01 * 255 * 0.01 * 255;
  EXPECT_NEAR(quality.ssim_all, (2 * 100 * 110 + c1) / (100 * 100 + 110 * 110 + c1), 1e-9);
}

TEST(Quality, SmallImagesAreOneWindow) {
  EXPECT_EQ(compare_pictures(gray(7, 3, 5), gray(7, 3, 5)).ssim_all, 1);
}

TEST(Quality, TheSourceIsConvertedToTheEncodersFormat) {
  Image rgb = Image::allocate(PixelFormat::rgb24, 16, 16);
  std::memset(rgb.planes[0].data, 128, static_cast<std::size_t>(rgb.planes[0].pitch * 16));
  Image encoded = Image::allocate(PixelFormat::yuv420p, 16, 16);
  encoded.color = {ColorMatrix::bt601, ColorRange::limited, ChromaSiting::left};
  convert_image(rgb, encoded);
  EXPECT_EQ(compare_pictures(rgb, encoded).ssim_all, 1);
}

} // namespace lanner
