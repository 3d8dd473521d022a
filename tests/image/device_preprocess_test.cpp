// The CUDA kernel's arithmetic, run on the host, against the CPU's rows.

#include "image/cuda/device_preprocess.h"

#include <random>

#include <gtest/gtest.h>

namespace lanner {
namespace {

Image noise(PixelFormat format, std::int32_t width, std::int32_t height) {
  std::mt19937 random(11);
  Image image = Image::allocate(format, width, height);
  const PixelFormatInfo& facts = info(format);
  const unsigned top = 1u << facts.bits;
  for (std::size_t i = 0; i < facts.planes; ++i) {
    const Plane& plane = image.planes[i];
    for (std::int32_t y = 0; y < plane.height; ++y)
      for (std::int32_t x = 0; x < plane.width * facts.samples[i]; ++x) {
        std::byte* row = plane.data + y * plane.pitch;
        if (facts.bytes_per_sample == 1)
          row[x] = static_cast<std::byte>(random() % top);
        else
          reinterpret_cast<std::uint16_t*>(row)[x] =
              static_cast<std::uint16_t>((random() % top) << facts.shift);
      }
  }
  return image;
}

void expect_like_rows(const Image& image, const Preprocess& spec) {
  const Tensor want = to_tensor(image, spec);
  const PreprocessPlan plan = preprocess_plan(image, spec);
  const DevicePreprocess p = device_preprocess(plan, nullptr);
  const int channels = spec.gray ? 1 : 3;
  float worst = 0;
  for (int y = 0; y < p.height; ++y)
    for (int x = 0; x < p.width; ++x) {
      float values[3];
      preprocess_pixel(p, x, y, values);
      for (int c = 0; c < channels; ++c) {
        const int at =
            spec.channels_last ? (y * p.width + x) * channels + c : (c * p.height + y) * p.width + x;
        worst = std::max(worst, std::abs(values[c] - want.as<float>()[static_cast<std::size_t>(at)]));
      }
    }
  EXPECT_LT(worst, 0.02f) << spec.to_json() << " " << to_string(image.format);
}

TEST(DevicePreprocess, AgreesWithTheCpu) {
  const std::vector<PixelFormat> formats{
      PixelFormat::nv12,       PixelFormat::p010,  PixelFormat::yuv420p, PixelFormat::yuv444p10,
      PixelFormat::yuv422p16,  PixelFormat::rgb24, PixelFormat::bgra32,  PixelFormat::gray8,
      PixelFormat::rgb_planar, PixelFormat::nv16};
  for (const PixelFormat format : formats)
    for (const Resize resize :
         {Resize::nearest, Resize::bilinear, Resize::bicubic, Resize::area, Resize::antialias}) {
      Preprocess spec;
      spec.width = 31, spec.height = 18;
      spec.resize = resize;
      spec.fit = format == PixelFormat::nv12   ? Fit::letterbox
                 : format == PixelFormat::p010 ? Fit::crop
                                               : Fit::stretch;
      spec.bgr = resize == Resize::area;
      spec.channels_last = resize == Resize::bicubic;
      spec.gray = format == PixelFormat::rgb24 && resize == Resize::nearest;
      expect_like_rows(noise(format, 53, 37), spec);
    }
}

TEST(DevicePreprocess, KeepsTheSizeWhereNoneIsAsked) {
  expect_like_rows(noise(PixelFormat::nv12, 33, 21), {});
}

} // namespace
} // namespace lanner
