// Pictures on a GPU against the same on the CPU. Skipped, with the reason, where there is no GPU.

#include <random>

#include <gtest/gtest.h>

#include <lanner/preprocess.h>

#include "device/cuda/driver.h"

namespace lanner {
namespace {

Image noise(PixelFormat format, std::int32_t width, std::int32_t height) {
  std::mt19937 random(7);
  Image image = Image::allocate(format, width, height);
  const PixelFormatInfo& facts = info(format);
  for (std::size_t i = 0; i < facts.planes; ++i) {
    const Plane& plane = image.planes[i];
    for (std::int32_t y = 0; y < plane.height; ++y)
      for (std::int32_t x = 0; x < plane.width * facts.samples[i]; ++x) {
        std::byte* row = plane.data + y * plane.pitch;
        if (facts.bytes_per_sample == 1)
          row[x] = static_cast<std::byte>(random());
        else
          reinterpret_cast<std::uint16_t*>(row)[x] =
              static_cast<std::uint16_t>((random() % (1u << facts.bits)) << facts.shift);
      }
  }
  return image;
}

class GpuPreprocess : public testing::TestWithParam<PixelFormat> {};

TEST_P(GpuPreprocess, agrees_with_the_cpu) {
  const cuda::DriverStatus& status = cuda::driver_status();
  if (status.devices == 0) GTEST_SKIP() << "no GPU: " << status.reason;
  const Image image = noise(GetParam(), 61, 43);
  for (const DType type : {DType::f32, DType::u8}) {
    Preprocess spec;
    spec.width = 48, spec.height = 32;
    spec.dtype = type;
    const Tensor expected = to_tensor(image, spec);
    Tensor found = Tensor::allocate(type, expected.shape(), {}, {DeviceKind::cuda, 0});
    preprocess(image, spec, found);
    const Tensor got = found.to(Device{});
    for (std::int64_t i = 0; i < got.elements(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double a = type == DType::u8 ? got.as<std::uint8_t>()[at] : got.as<float>()[at],
                   b = type == DType::u8 ? expected.as<std::uint8_t>()[at] : expected.as<float>()[at];
      ASSERT_NEAR(a, b, 1.0) << "element " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(formats, GpuPreprocess,
                         testing::Values(PixelFormat::nv12, PixelFormat::p010, PixelFormat::yuv420p,
                                         PixelFormat::rgb24, PixelFormat::bgra32, PixelFormat::gray8,
                                         PixelFormat::rgb_planar));

} // namespace
} // namespace lanner
