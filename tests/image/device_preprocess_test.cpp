// The CUDA kernel's arithmetic, run on the host, against the CPU's row loops.

#include "image/cuda/device_preprocess.h"

#include <cmath>

#include <gtest/gtest.h>

#include "image/reference.h"

namespace lanner {
namespace {

using test::preprocessed;
using test::random_image;

void read_pixel(const DevicePreprocess& p, bool taps, int bytes, int x, int y, float values[3]) {
  if (bytes == 1)
    taps ? preprocess_pixel<ByTaps<std::uint8_t>>(p, x, y, values)
         : preprocess_pixel<ByNeighbours<std::uint8_t>>(p, x, y, values);
  else
    taps ? preprocess_pixel<ByTaps<std::uint16_t>>(p, x, y, values)
         : preprocess_pixel<ByNeighbours<std::uint16_t>>(p, x, y, values);
}

// Compares with the CPU's tensor and, at some positions, with float64.
void expect_like_rows(const Image& image, const Preprocess& spec) {
  const Tensor want = to_tensor(image, spec);
  const PreprocessPlan plan = preprocess_plan(image, spec);
  DevicePreprocess p = device_preprocess(plan, nullptr);
  const Sampling sampling = sampling_of(plan.axes);
  const auto use = [](DeviceAxis& axis, const Taps& taps) {
    set_taps(axis, taps, taps.index.data(), taps.weights.data());
  };
  use(p.luma_x, sampling.luma_x), use(p.luma_y, sampling.luma_y);
  use(p.chroma_x, sampling.chroma_x), use(p.chroma_y, sampling.chroma_y);
  const int channels = spec.gray ? 1 : 3, bytes = format_info(image.format).bytes_per_sample;
  double from_rows = 0, from_reference = 0;
  for (int y = 0; y < p.height; ++y)
    for (int x = 0; x < p.width; ++x) {
      float values[3];
      read_pixel(p, needs_taps(spec), bytes, x, y, values);
      for (int c = 0; c < channels; ++c) {
        const int at =
            spec.channels_last ? (y * p.width + x) * channels + c : (c * p.height + y) * p.width + x;
        const double value = values[c];
        from_rows = std::max(from_rows, std::abs(value - want.as<float>()[static_cast<std::size_t>(at)]));
        if ((x + y) % 7 == 0)
          from_reference = std::max(from_reference, std::abs(value - preprocessed(image, spec, c, x, y)));
      }
    }
  EXPECT_LT(from_rows, 0.02) << spec.to_json() << " " << to_string(image.format);
  EXPECT_LT(from_reference, 0.02) << spec.to_json() << " " << to_string(image.format);
}

TEST(DevicePreprocess, AgreesWithTheCpu) {
  const std::vector<PixelFormat> formats{
      PixelFormat::nv12,       PixelFormat::p010,  PixelFormat::yuv420p, PixelFormat::yuv444p10,
      PixelFormat::yuv422p16,  PixelFormat::rgb24, PixelFormat::bgra32,  PixelFormat::gray8,
      PixelFormat::rgb_planar, PixelFormat::nv16};
  for (const PixelFormat format : formats)
    for (const Resize resize : {Resize::nearest, Resize::bilinear, Resize::bicubic, Resize::area,
                                Resize::antialias, Resize::antialias_cubic, Resize::antialias_lanczos}) {
      Preprocess spec;
      spec.width = 31, spec.height = 18;
      spec.resize = resize;
      spec.fit = format == PixelFormat::nv12   ? Fit::letterbox
                 : format == PixelFormat::p010 ? Fit::crop
                                               : Fit::stretch;
      spec.bgr = resize == Resize::area;
      spec.channels_last = resize == Resize::bicubic;
      spec.gray = format == PixelFormat::rgb24 && resize == Resize::nearest;
      spec.region = resize == Resize::antialias ? PixelRect{} : PixelRect{3, 5, 41, 29};
      spec.quarter_turns = static_cast<int>(resize) + 1;
      expect_like_rows(random_image(format, 53, 37, 11), spec);
    }
}

TEST(DevicePreprocess, BilinearInEveryRotationAndFit) {
  for (const PixelFormat format : {PixelFormat::nv12, PixelFormat::p010, PixelFormat::rgb24})
    for (const Fit fit : {Fit::stretch, Fit::letterbox, Fit::crop, Fit::corner})
      for (int turns = 0; turns < 4; ++turns)
        for (const int size : {9, 40, 160}) {
          Preprocess spec;
          spec.width = size, spec.height = 44;
          spec.fit = fit;
          spec.quarter_turns = turns;
          spec.region = {1, 1, 47, 33};
          expect_like_rows(random_image(format, 53, 37, 12), spec);
        }
}

TEST(DevicePreprocess, OpenTargetKeepsTheSourceSize) {
  expect_like_rows(random_image(PixelFormat::nv12, 33, 21, 11), {});
}

} // namespace
} // namespace lanner
