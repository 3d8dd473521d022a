// Images on the fake driver, whose image kernels run on the host.

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <lanner/preprocess.h>

#include "device/cuda/gpu.h"
#include "expect_error.h"
#include "fake_driver/fake_gpu.h"
#include "image/copied_to.h"
#include "image/reference.h"

namespace lanner::test {
namespace {

class FakeImages : public GpuTest {
protected:
  void SetUp() override { fake_cuda_forget(); }

  cuda::OwnedStream queue_{cuda::Gpu::get(gpu_device)};
};

Preprocess spec_of(Resize resize, int turns) {
  Preprocess spec = Preprocess::preset("imagenet");
  spec.width = 31, spec.height = 17;
  spec.resize = resize;
  spec.quarter_turns = turns;
  spec.region = {3, 5, 41, 29};
  spec.fit = Fit::letterbox;
  return spec;
}

void expect_near(const Tensor& got, const Tensor& want, double bound) {
  const Tensor back = got.to(Device{});
  ASSERT_EQ(back.shape(), want.shape());
  for (std::size_t i = 0; i < static_cast<std::size_t>(want.elements()); ++i)
    ASSERT_NEAR(back.as<float>()[i], want.as<float>()[i], bound) << i;
}

TEST_F(FakeImages, an_image_on_the_gpu_takes_one_launch) {
  for (const PixelFormat format : {PixelFormat::nv12, PixelFormat::p010, PixelFormat::bgra32})
    for (const Resize resize :
         {Resize::nearest, Resize::bilinear, Resize::bicubic, Resize::area, Resize::antialias}) {
      const Image image = random_image(format, 53, 37, 1), there = copied_to(gpu_device, image);
      const Preprocess spec = spec_of(resize, static_cast<int>(resize));
      const Tensor want = to_tensor(image, spec);
      Tensor found = Tensor::allocate(DType::f32, want.shape(), {}, gpu_device);
      const PreprocessRun run{1, queue_.stream()};
      preprocess(there, spec, found, 0, run);
      expect_near(found, want, 0.001);
      fake_cuda_forget();
      const std::size_t memory = fake_cuda_memory();
      preprocess(there, spec, found, 0, run);
      EXPECT_STREQ(fake_cuda_log(), "cuLaunchKernel\n") << spec.to_json();
      EXPECT_EQ(fake_cuda_memory(), memory);
    }
}

TEST_F(FakeImages, tables_are_bounded) {
  const Image there = copied_to(gpu_device, random_image(PixelFormat::nv12, 64, 64, 1));
  Tensor found = Tensor::allocate(DType::f32, {1, 3, 16, 16}, {}, gpu_device);
  Preprocess spec;
  spec.width = spec.height = 16;
  spec.resize = Resize::area;
  std::size_t most = 0;
  for (int x = 0; x < 30; ++x)
    for (int y = 0; y < 30; ++y) {
      spec.region = {0, 0, 30 + x, 30 + y};
      preprocess(there, spec, found, 0, {1, queue_.stream()});
      if (x == 10 && y == 0) most = fake_cuda_memory();
    }
  EXPECT_EQ(fake_cuda_memory(), most);
}

TEST_F(FakeImages, bilinear_regions_need_no_tables) {
  const Image there = copied_to(gpu_device, random_image(PixelFormat::nv12, 64, 64, 1));
  Tensor found = Tensor::allocate(DType::f32, {1, 3, 16, 16}, {}, gpu_device);
  Preprocess spec;
  spec.width = spec.height = 16;
  spec.resize = Resize::bilinear;
  preprocess(there, spec, found, 0, {1, queue_.stream()});
  fake_cuda_forget();
  for (const PixelRect& region : {PixelRect{0, 0, 20, 20}, PixelRect{5, 9, 33, 14}}) {
    spec.region = region;
    preprocess(there, spec, found, 0, {1, queue_.stream()});
  }
  EXPECT_STREQ(fake_cuda_log(), "cuLaunchKernel\ncuLaunchKernel\n");
}

TEST_F(FakeImages, an_image_on_the_host_is_uploaded) {
  const Image image = random_image(PixelFormat::yuv420p, 53, 37, 2);
  for (const Resize resize : {Resize::bilinear, Resize::antialias}) {
    const Preprocess spec = spec_of(resize, 3);
    const Tensor want = to_tensor(image, spec);
    Tensor found = Tensor::allocate(DType::f32, want.shape(), {}, gpu_device);
    for (int call = 0; call < 5; ++call) preprocess(image, spec, found);
    expect_near(found, want, 0.001);
    const std::size_t memory = fake_cuda_memory();
    fake_cuda_forget();
    preprocess(image, spec, found);
    EXPECT_EQ(fake_cuda_memory(), memory);
    EXPECT_EQ(std::string(fake_cuda_log()).find("Alloc"), std::string::npos) << fake_cuda_log();
  }
}

TEST_F(FakeImages, colour_is_converted_on_the_images_device) {
  const std::pair<PixelFormat, PixelFormat> pairs[] = {
      {PixelFormat::nv12, PixelFormat::rgb24},   {PixelFormat::p010, PixelFormat::rgb_planar},
      {PixelFormat::rgb24, PixelFormat::nv12},   {PixelFormat::nv12, PixelFormat::yuv420p},
      {PixelFormat::yuv444p, PixelFormat::nv12}, {PixelFormat::nv12, PixelFormat::p010}};
  for (const auto& [from, to] : pairs) {
    const Image image = random_image(from, 37, 23, 3), there = copied_to(gpu_device, image);
    Image want = Image::allocate(to, 37, 23), back = Image::allocate(to, 37, 23);
    Image found = Image::allocate(to, 37, 23, {}, gpu_device);
    convert_image(image, want);
    convert_image(there, found, queue_.stream());
    fake_cuda_forget();
    convert_image(there, found, queue_.stream());
    EXPECT_STREQ(fake_cuda_log(), "cuLaunchKernel\n");
    convert_image(there, found);
    copy_image(found, back);
    for (int c = 0; c < 3; ++c)
      for (std::int32_t y = 0; y < want.planes[format_info(to).yuv && c ? 1 : 0].height; ++y)
        for (std::int32_t x = 0; x < want.planes[format_info(to).yuv && c ? 1 : 0].width; ++x)
          ASSERT_NEAR(sample_at(back, c, x, y), sample_at(want, c, x, y), 1)
              << to_string(from) << " to " << to_string(to);
  }
}

TEST_F(FakeImages, formats_that_no_kernel_has_are_refused) {
  const std::pair<PixelFormat, PixelFormat> pairs[] = {{PixelFormat::yuv411p, PixelFormat::rgb24},
                                                       {PixelFormat::rgb24, PixelFormat::yuv410p},
                                                       {PixelFormat::yuva420p, PixelFormat::rgba64},
                                                       {PixelFormat::nv12, PixelFormat::yuva420p}};
  for (const auto& [from, to] : pairs) {
    const Image there = copied_to(gpu_device, random_image(from, 36, 24, 3));
    Image found = Image::allocate(to, 36, 24, {}, gpu_device);
    LANNER_EXPECT_ERROR(convert_image(there, found), ErrorCode::unsupported, "copy the frame to the host");
  }
  Image coded = copied_to(gpu_device, random_image(PixelFormat::yuv420p10, 36, 24, 3));
  coded.color.matrix = ColorMatrix::bt2020c;
  Image found = Image::allocate(PixelFormat::rgb24, 36, 24, {}, gpu_device);
  LANNER_EXPECT_ERROR(convert_image(coded, found), ErrorCode::unsupported, "constant luminance");
}

TEST_F(FakeImages, opacity_reaches_bytes) {
  const Image image = random_image(PixelFormat::yuva420p, 36, 24, 3);
  const Image there = copied_to(gpu_device, image);
  Image want = Image::allocate(PixelFormat::rgba32, 36, 24),
        back = Image::allocate(PixelFormat::rgba32, 36, 24);
  convert_image(image, want);
  Image found = Image::allocate(PixelFormat::rgba32, 36, 24, {}, gpu_device);
  convert_image(there, found);
  copy_image(found, back);
  for (std::int32_t y = 0; y < 24; ++y)
    for (std::int32_t x = 0; x < 36; ++x)
      ASSERT_EQ(back.planes[0].data[y * back.planes[0].pitch + 4 * x + 3],
                want.planes[0].data[y * want.planes[0].pitch + 4 * x + 3]);
}

TEST_F(FakeImages, images_are_rotated_on_their_device) {
  for (const PixelFormat format : {PixelFormat::nv12, PixelFormat::p010, PixelFormat::rgb24,
                                   PixelFormat::gray8, PixelFormat::rgb48, PixelFormat::yuv444p})
    for (int turns = 1; turns < 4; ++turns) {
      const Image image = random_image(format, 37, 23, 3), there = copied_to(gpu_device, image);
      const Image want = rotated_image(image, turns);
      const bool on_stream = turns == 2;
      const Image found = rotated_image(there, turns, on_stream ? queue_.stream() : Stream{});
      if (on_stream) queue_.synchronize();
      ASSERT_EQ(found.device, gpu_device);
      ASSERT_EQ(std::tuple(found.format, found.width, found.height),
                std::tuple(want.format, want.width, want.height));
      EXPECT_EQ(found.color, want.color);
      Image back = Image::allocate(want.format, want.width, want.height);
      copy_image(found, back);
      const int components = format == PixelFormat::gray8 ? 1 : 3;
      for (int c = 0; c < components; ++c)
        for (std::int32_t y = 0; y < want.height; ++y)
          for (std::int32_t x = 0; x < want.width; ++x)
            ASSERT_NEAR(sample_at(back, c, x, y), sample_at(want, c, x, y), 1)
                << to_string(format) << " turned by " << turns;
    }
}

TEST_F(FakeImages, convert_refuses_images_on_different_devices) {
  const Image image = random_image(PixelFormat::nv12, 8, 8, 4);
  Image there = Image::allocate(PixelFormat::rgb24, 8, 8, {}, gpu_device);
  LANNER_EXPECT_ERROR(convert_image(image, there), ErrorCode::unsupported, "from cpu to cuda:0");
}

/// Synchronising on the default stream, which frameworks use, would break a graph that another thread is
/// recording.
TEST_F(FakeImages, calls_without_a_stream_wait_for_recordings) {
  const cuda::Gpu& gpu = cuda::Gpu::get(gpu_device);
  const cuda::Current current(gpu);
  const Image image = random_image(PixelFormat::nv12, 48, 36, 5), there = copied_to(gpu_device, image);
  Image back = Image::allocate(PixelFormat::nv12, 48, 36);
  Image colours = Image::allocate(PixelFormat::rgb24, 48, 36, {}, gpu_device);
  Tensor tensor = Tensor::allocate(DType::f32, {1, 3, 36, 48}, {}, gpu_device);
  const std::function<void()> calls[] = {
      [&] { copy_image(there, back); }, [&] { convert_image(there, colours); },
      [&] { static_cast<void>(rotated_image(there, 1)); }, [&] { preprocess(there, {}, tensor); },
      [&] { static_cast<void>(tensor.to(Device{})); }};
  for (const auto& call : calls) {
    std::atomic<bool> done = false;
    std::thread other;
    cuda::GraphExec::capture(gpu, queue_, [&](cuda::StreamHandle) {
      other = std::thread([&] {
        call();
        done = true;
      });
      std::this_thread::sleep_for(std::chrono::milliseconds(30)); // Time for it to go wrong.
      EXPECT_FALSE(done) << &call - calls;
    });
    other.join();
    EXPECT_TRUE(done);
  }
}

TEST_F(FakeImages, a_call_that_failed_may_be_tried_again) {
  const Image image = random_image(PixelFormat::nv12, 48, 36, 5), there = copied_to(gpu_device, image);
  Preprocess spec;
  spec.width = 21, spec.height = 12;
  spec.resize = Resize::antialias;
  const Tensor want = to_tensor(image, spec);
  Tensor found = Tensor::allocate(DType::f32, want.shape(), {}, gpu_device);
  for (const Image* source : {&image, &there})
    for (std::size_t number = 1; number < 6; ++number) {
      spec.region = {0, 0, 48, 36 - static_cast<std::int32_t>(number)}; // Tables of its own.
      fails(number, launch_failed, [&] { preprocess(*source, spec, found); });
      preprocess(*source, spec, found);
      expect_near(found, to_tensor(image, spec), 0.02);
    }
}

} // namespace
} // namespace lanner::test
