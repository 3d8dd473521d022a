// The CUDA kernels' arithmetic, run on the host, against the CPU's row loops.

#include "image/cuda/device_convert.h"

#include <cmath>

#include <gtest/gtest.h>

#include "image/reference.h"

namespace lanner {
namespace {

using test::random_image;
using test::rgb_at;
using test::sample_at;

// Runs the kernels' code, thread by thread.
void convert_by_kernel(const Image& from, Image& to) {
  const ConvertJob job{from, to, resolved(from.color, from.format, from.height),
                       resolved(to.color, to.format, to.height), 1};
  const DeviceConvert p = device_convert(job);
  if (format_info(to.format).yuv) {
    for (int y = 0; y < to.planes[1].height; ++y)
      for (int x = 0; x < to.planes[1].width; ++x) convert_chroma(p, x, y);
    return;
  }
  for (int y = 0; y < to.height; ++y)
    for (int x = 0; x < to.width; ++x) {
      unsigned samples[3];
      convert_pixel(p, x, y, samples);
      for (int c = 0; c < p.parts; ++c) put(p.to, c, x, y, samples[c]);
    }
}

constexpr PixelFormat every_yuv[] = {PixelFormat::nv12,      PixelFormat::p010,      PixelFormat::p016,
                                     PixelFormat::nv16,      PixelFormat::p210,      PixelFormat::yuv420p,
                                     PixelFormat::yuv422p,   PixelFormat::yuv444p,   PixelFormat::yuv420p10,
                                     PixelFormat::yuv422p10, PixelFormat::yuv444p10, PixelFormat::yuv420p12,
                                     PixelFormat::yuv422p16, PixelFormat::yuv444p16, PixelFormat::yuv440p,
                                     PixelFormat::yuv440p12, PixelFormat::yuv420p9,  PixelFormat::yuv444p14};
constexpr PixelFormat every_rgb[] = {PixelFormat::rgb24,      PixelFormat::bgr24,      PixelFormat::bgra32,
                                     PixelFormat::rgb_planar, PixelFormat::bgr_planar, PixelFormat::rgb48,
                                     PixelFormat::gray8,      PixelFormat::gray12,     PixelFormat::gbrp,
                                     PixelFormat::gbrp10,     PixelFormat::bgr48};

// Both round the same exact value; exactly between two codes both are allowed.
void expect_same(PixelFormat from, PixelFormat to, ChromaSiting siting) {
  Image source = random_image(from, 37, 23, 21);
  source.color.siting = siting;
  Image rows = Image::allocate(to, 37, 23), kernel = Image::allocate(to, 37, 23);
  rows.color.siting = kernel.color.siting = from == to ? ChromaSiting::top : siting;
  convert_image(source, rows);
  convert_by_kernel(source, kernel);
  const PixelFormatInfo& facts = format_info(to);
  std::int64_t different = 0, samples = 0;
  for (int c = 0; c < (facts.planes == 1 && facts.samples[0] == 1 ? 1 : 3); ++c) {
    const Plane& plane = rows.planes[facts.yuv && c ? 1 : 0];
    for (std::int32_t y = 0; y < plane.height; ++y)
      for (std::int32_t x = 0; x < plane.width; ++x, ++samples) {
        const double a = sample_at(kernel, c, x, y), b = sample_at(rows, c, x, y);
        ASSERT_NEAR(a, b, 1) << to_string(from) << " to " << to_string(to) << " at " << x << "," << y;
        different += a != b;
        if (facts.yuv || c > 0 || facts.samples[0] == 1 || facts.planes > 1) continue;
        const double top = std::pow(2, facts.bits) - 1, exact = rgb_at(source, x, y)[0] * top;
        ASSERT_NEAR(a, std::min(top, std::max(0.0, exact)), 0.5 + top * 2e-6) << to_string(from);
      }
  }
  // 16-bit sums in another order differ occasionally.
  EXPECT_LE(different, samples / (facts.bits == 16 ? 20 : 200)) << to_string(from) << " to " << to_string(to);
}

TEST(DeviceConvert, AgreesWithTheCpu) {
  for (const PixelFormat from : every_yuv)
    for (const PixelFormat to : every_rgb) expect_same(from, to, ChromaSiting::unspecified);
  for (const PixelFormat from : every_rgb)
    for (const PixelFormat to : every_yuv) expect_same(from, to, ChromaSiting::unspecified);
}

TEST(DeviceConvert, BetweenYuvOfEverySiting) {
  for (const ChromaSiting siting : {ChromaSiting::left, ChromaSiting::center, ChromaSiting::top_left,
                                    ChromaSiting::top, ChromaSiting::bottom_left, ChromaSiting::bottom}) {
    for (const PixelFormat from : {PixelFormat::nv12, PixelFormat::p010, PixelFormat::yuv422p})
      for (const PixelFormat to : every_yuv) expect_same(from, to, siting);
    expect_same(PixelFormat::rgb24, PixelFormat::nv12, siting);
    expect_same(PixelFormat::nv12, PixelFormat::rgb24, siting);
  }
}

} // namespace
} // namespace lanner
