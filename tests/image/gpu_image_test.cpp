// Image operations on a GPU against those on the CPU. Skipped, with the reason, where there is no GPU.

#include <gtest/gtest.h>

#include <lanner/preprocess.h>

#include "device/cuda/driver.h"
#include "device/cuda/gpu.h"
#include "image/copied_to.h"
#include "image/reference.h"

namespace lanner {
namespace {

using test::random_image;
using test::sample_at;

constexpr Device gpu_device{DeviceKind::cuda, 0};

class GpuImages : public testing::TestWithParam<PixelFormat> {
protected:
  void SetUp() override {
    const cuda::DriverStatus& status = cuda::driver_status();
    if (status.devices == 0) GTEST_SKIP() << "no GPU: " << status.reason;
  }
};

double element(const Tensor& tensor, std::size_t i) {
  switch (tensor.dtype()) {
  case DType::f32:
    return tensor.as<float>()[i];
  case DType::u8:
    return tensor.as<std::uint8_t>()[i];
  case DType::f16:
    return static_cast<float>(tensor.as<Half>()[i]);
  default:
    return static_cast<float>(tensor.as<BFloat16>()[i]);
  }
}

// From images on the GPU and on the host, with and without a stream, for every type and layout.
TEST_P(GpuImages, become_tensors) {
  const Image image = random_image(GetParam(), 61, 43, 7), there = test::copied_to(gpu_device, image);
  const cuda::OwnedStream queue(cuda::Gpu::get(gpu_device));
  int turns = 0;
  for (const Resize resize : {Resize::nearest, Resize::bilinear, Resize::bicubic, Resize::area,
                              Resize::antialias, Resize::antialias_cubic, Resize::antialias_lanczos})
    for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::u8})
      for (const bool last : {false, true})
        for (const int width : {48, 35}) {
          Preprocess spec;
          spec.width = width, spec.height = 32;
          spec.dtype = type;
          spec.channels_last = last;
          spec.resize = resize;
          spec.quarter_turns = turns++ % 4;
          spec.region = {5, 3, 51, 37};
          spec.fit = turns % 3 ? Fit::letterbox : Fit::crop;
          const Tensor expected = to_tensor(image, spec);
          Tensor found = Tensor::allocate(type, expected.shape(), {}, gpu_device);
          preprocess(turns % 2 ? there : image, spec, found, 0, {1, turns % 5 ? queue.stream() : Stream{}});
          queue.synchronize();
          const Tensor got = found.to(Device{});
          for (std::size_t i = 0; i < static_cast<std::size_t>(got.elements()); ++i)
            ASSERT_NEAR(element(got, i), element(expected, i), 1.0) << spec.to_json() << " element " << i;
        }
}

TEST_P(GpuImages, change_format) {
  const Image image = random_image(GetParam(), 61, 43, 8), there = test::copied_to(gpu_device, image);
  for (const PixelFormat to :
       {PixelFormat::rgb24, PixelFormat::bgr24, PixelFormat::rgba32, PixelFormat::rgb_planar,
        PixelFormat::bgr_planar, PixelFormat::rgb48, PixelFormat::gray8, PixelFormat::nv12,
        PixelFormat::yuv420p, PixelFormat::p010, PixelFormat::yuv444p, PixelFormat::nv16}) {
    Image want = Image::allocate(to, 61, 43), back = Image::allocate(to, 61, 43),
          found = Image::allocate(to, 61, 43, {}, gpu_device);
    convert_image(image, want);
    convert_image(there, found);
    copy_image(found, back);
    const PixelFormatInfo& facts = format_info(to);
    for (int c = 0; c < (to == PixelFormat::gray8 ? 1 : 3); ++c)
      for (std::int32_t y = 0; y < want.planes[facts.yuv && c ? 1 : 0].height; ++y)
        for (std::int32_t x = 0; x < want.planes[facts.yuv && c ? 1 : 0].width; ++x)
          ASSERT_NEAR(sample_at(back, c, x, y), sample_at(want, c, x, y), 1)
              << to_string(image.format) << " to " << to_string(to) << " at " << x << "," << y;
    if (to == PixelFormat::rgba32) {
      ASSERT_EQ(back.planes[0].data[60 * 4 + 3], want.planes[0].data[60 * 4 + 3]);
    }
  }
}

TEST_P(GpuImages, are_rotated) {
  const Image image = random_image(GetParam(), 61, 43, 9), there = test::copied_to(gpu_device, image);
  const cuda::OwnedStream queue(cuda::Gpu::get(gpu_device));
  for (int turns = 1; turns < 4; ++turns) {
    const Image want = rotated_image(image, turns);
    const Image found = rotated_image(there, turns, turns == 2 ? queue.stream() : Stream{});
    queue.synchronize();
    Image back = Image::allocate(want.format, want.width, want.height);
    copy_image(found, back);
    for (int c = 0; c < (want.format == PixelFormat::gray8 ? 1 : 3); ++c)
      for (std::int32_t y = 0; y < want.height; ++y)
        for (std::int32_t x = 0; x < want.width; ++x)
          ASSERT_NEAR(sample_at(back, c, x, y), sample_at(want, c, x, y), 1)
              << to_string(image.format) << " turned by " << turns << " at " << x << "," << y;
  }
}

INSTANTIATE_TEST_SUITE_P(formats, GpuImages,
                         testing::Values(PixelFormat::nv12, PixelFormat::p010, PixelFormat::p016,
                                         PixelFormat::nv16, PixelFormat::yuv420p, PixelFormat::yuv422p10,
                                         PixelFormat::yuv444p16, PixelFormat::rgb24, PixelFormat::bgra32,
                                         PixelFormat::gray8, PixelFormat::rgb_planar, PixelFormat::rgb48));

} // namespace
} // namespace lanner
