#include "image/ycgco_r.h"

#include <array>
#include <random>

#include <gtest/gtest.h>

#include <lanner/preprocess.h>

#include "expect_error.h"
#include "image/matrix_codes.h"
#include "image/reference.h"

namespace lanner {
namespace {

using test::sample_at;

struct Form {
  int code, bits; ///< Of H.273; of R, G and B.
  PixelFormat stored, made;
};
constexpr Form forms[] = {
    {16, 8, PixelFormat::yuv444p10, PixelFormat::gbrp},
    {17, 8, PixelFormat::yuv444p9, PixelFormat::gbrp},
    {17, 9, PixelFormat::yuv444p10, PixelFormat::gbrp9},
    {16, 10, PixelFormat::yuv444p12, PixelFormat::gbrp10},
    {16, 12, PixelFormat::yuv444p14, PixelFormat::gbrp12},
    {16, 14, PixelFormat::yuv444p16, PixelFormat::gbrp14},
    {16, 8, PixelFormat::yuv444p10msb, PixelFormat::gbrp},
};

void put(const Image& image, int plane, int x, int y, int code) {
  const Plane& to = image.planes[static_cast<std::size_t>(plane)];
  reinterpret_cast<std::uint16_t*>(to.data + y * to.pitch)[x] =
      static_cast<std::uint16_t>(code << format_info(image.format).shift);
}

using Rgb = std::array<int, 3>;

/// Equations of H.273 (MatrixCoefficients 16 and 17), from R, G and B.
Image stored(const Form& form, const std::vector<Rgb>& pixels) {
  Image image = Image::allocate(form.stored, static_cast<std::int32_t>(pixels.size()), 1);
  image.color = {matrix_of_code(form.code, 2), ColorRange::full};
  const int middle = 1 << (format_info(form.stored).bits - 1);
  for (std::size_t x = 0; x < pixels.size(); ++x) {
    const auto [r, g, b] = pixels[x];
    const int co = r - b, t = b + (co >> 1), cg = g - t, luma = t + (cg >> 1);
    put(image, 0, static_cast<int>(x), 0, luma);
    put(image, 1, static_cast<int>(x), 0, cg + middle);
    put(image, 2, static_cast<int>(x), 0, co + middle);
  }
  return image;
}

std::vector<Rgb> pixels_of(int bits) {
  std::mt19937 random(7);
  const int top = (1 << bits) - 1;
  std::uniform_int_distribution<int> code(0, top);
  std::vector<Rgb> pixels{{0, 0, 0}, {top, top, top}};
  for (int c = 0; c < 8; ++c) pixels.push_back({c & 1 ? top : 0, c & 2 ? top : 0, c & 4 ? top : 0});
  for (int i = 0; i < 1000; ++i) pixels.push_back({code(random), code(random), code(random)});
  return pixels;
}

TEST(YcgcoR, IsExact) {
  for (const Form& form : forms) {
    SCOPED_TRACE(to_string(form.stored));
    const std::vector<Rgb> pixels = pixels_of(form.bits);
    const Image image = stored(form, pixels);
    Image planes = Image::allocate(form.made, image.width, 1);
    convert_image(image, planes);
    for (std::size_t x = 0; x < pixels.size(); ++x) {
      const int at = static_cast<int>(x);
      EXPECT_EQ(
          (Rgb{static_cast<int>(sample_at(planes, 0, at, 0)), static_cast<int>(sample_at(planes, 1, at, 0)),
               static_cast<int>(sample_at(planes, 2, at, 0))}),
          pixels[x]);
    }
  }
}

TEST(YcgcoR, OtherFormatsComeFromTheSamePixels) {
  const std::vector<Rgb> pixels = pixels_of(8);
  const Image image = stored(forms[0], pixels);
  Image planes = Image::allocate(PixelFormat::gbrp, image.width, 1);
  convert_image(image, planes);
  for (const PixelFormat format : {PixelFormat::rgb24, PixelFormat::yuv444p, PixelFormat::gray8}) {
    Image direct = Image::allocate(format, image.width, 1), by_planes = direct;
    by_planes = Image::allocate(format, image.width, 1);
    convert_image(image, direct);
    convert_image(planes, by_planes);
    for (int c = 0; c < (format == PixelFormat::gray8 ? 1 : 3); ++c)
      for (int x = 0; x < image.width; ++x)
        EXPECT_EQ(sample_at(direct, c, x, 0), sample_at(by_planes, c, x, 0));
  }
  Preprocess spec;
  const Tensor tensor = to_tensor(image, spec), expected = to_tensor(planes, spec);
  ASSERT_EQ(tensor.shape(), expected.shape());
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    ASSERT_EQ(tensor.as<float>()[i], expected.as<float>()[i]);
}

TEST(YcgcoR, IsRefusedWhereNoExactPixelsAreKnown) {
  Image limited = stored(forms[0], pixels_of(8));
  limited.color.range = ColorRange::limited;
  Image shrunk = Image::allocate(PixelFormat::yuv420p10, 2, 2);
  Image shallow = Image::allocate(PixelFormat::yuv444p, 2, 2);
  for (Image* image : {&limited, &shrunk, &shallow}) {
    if (image != &limited) image->color = {matrix_of_code(16, 2), ColorRange::full};
    Image target = Image::allocate(PixelFormat::rgb24, image->width, image->height);
    LANNER_EXPECT_ERROR(convert_image(*image, target), ErrorCode::unsupported,
                        "of matrix ycgco-re (16 of H.273)");
  }
}

TEST(YcgcoR, IsNotMade) {
  const Image source = Image::allocate(PixelFormat::rgb24, 2, 2);
  Image target = Image::allocate(PixelFormat::yuv444p10, 2, 2);
  target.color = {matrix_of_code(17, 2), ColorRange::full};
  LANNER_EXPECT_ERROR(convert_image(source, target), ErrorCode::unsupported,
                      "of matrix ycgco-ro (17 of H.273)");
}

} // namespace
} // namespace lanner
