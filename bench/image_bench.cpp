// Images of 1920x1080: colour conversion, and conversion to a network's input, on one thread; the same on a
// GPU, where `us` is microseconds a frame.

#include <random>

#include <benchmark/benchmark.h>

#include <lanner/image.h>
#include <lanner/preprocess.h>

#include "device/cuda/gpu.h"
#include "device/memory.h"

namespace lanner::bench {
namespace {

Image noise(PixelFormat format) {
  Image image = Image::allocate(format, 1920, 1080);
  const PixelFormatInfo& facts = format_info(format);
  std::mt19937 random(1);
  for (std::size_t p = 0; p < facts.planes; ++p) {
    const Plane& plane = image.planes[p];
    for (std::int32_t y = 0; y < plane.height; ++y)
      for (std::int32_t i = 0; i < plane.width * facts.samples[p]; ++i) {
        const auto code = static_cast<unsigned>(random() >> (32 - facts.bits));
        std::byte* row = plane.data + y * plane.pitch;
        if (facts.bytes_per_sample == 1)
          row[i] = static_cast<std::byte>(code);
        else
          reinterpret_cast<std::uint16_t*>(row)[i] = static_cast<std::uint16_t>(code << facts.shift);
      }
  }
  return image;
}

void convert_frame(benchmark::State& state, PixelFormat from, PixelFormat to) {
  const Image source = noise(from);
  Image target = Image::allocate(to, source.width, source.height);
  for (auto step : state) convert_image(source, target);
}

void preprocess_frame(benchmark::State& state, PixelFormat format, Resize resize, bool channels_last) {
  const Image source = noise(format);
  Preprocess spec = Preprocess::preset("imagenet");
  spec.width = spec.height = 224;
  spec.resize = resize;
  spec.channels_last = channels_last;
  Tensor output = to_tensor(source, spec);
  for (auto step : state) preprocess(source, spec, output);
}

#define LANNER_IMAGE_BENCH(from, to)                                                                         \
  BENCHMARK_CAPTURE(convert_frame, from##_to_##to, PixelFormat::from, PixelFormat::to)                       \
      ->Unit(benchmark::kMillisecond)
LANNER_IMAGE_BENCH(yuv420p, rgb24);
LANNER_IMAGE_BENCH(nv12, rgb24);
LANNER_IMAGE_BENCH(yuv420p, rgb_planar);
LANNER_IMAGE_BENCH(nv12, bgr_planar);
LANNER_IMAGE_BENCH(yuv444p, rgb24);
LANNER_IMAGE_BENCH(yuv420p, bgra32);
LANNER_IMAGE_BENCH(p010, rgb24);
LANNER_IMAGE_BENCH(yuv420p10, rgb_planar);
LANNER_IMAGE_BENCH(p010, rgb48);
LANNER_IMAGE_BENCH(rgb24, yuv420p);
LANNER_IMAGE_BENCH(rgb24, nv12);
LANNER_IMAGE_BENCH(nv12, yuv420p);
LANNER_IMAGE_BENCH(yuv420p, nv12);
LANNER_IMAGE_BENCH(p010, yuv420p10);
LANNER_IMAGE_BENCH(yuv420p10, yuv420p);
#undef LANNER_IMAGE_BENCH

#define LANNER_IMAGE_BENCH(format, resize, last)                                                             \
  BENCHMARK_CAPTURE(preprocess_frame, format##_##resize##_##last, PixelFormat::format, Resize::resize, last) \
      ->Unit(benchmark::kMillisecond)
LANNER_IMAGE_BENCH(yuv420p, bilinear, false);
LANNER_IMAGE_BENCH(yuv420p, bilinear, true);
LANNER_IMAGE_BENCH(nv12, bilinear, false);
LANNER_IMAGE_BENCH(p010, bilinear, false);
LANNER_IMAGE_BENCH(rgb24, bilinear, false);
LANNER_IMAGE_BENCH(yuv420p, nearest, false);
LANNER_IMAGE_BENCH(yuv420p, antialias, false);
LANNER_IMAGE_BENCH(rgb24, antialias, false);
#undef LANNER_IMAGE_BENCH

// Queued a hundred at a time on one stream, with images and tensor on the GPU.
template<typename Queue>
void on_gpu(benchmark::State& state, Queue&& queue) {
  if (cuda::driver_status().devices == 0)
    return state.SkipWithError(("no GPU: " + cuda::driver_status().reason).c_str());
  constexpr Device device{DeviceKind::cuda, 0};
  const cuda::OwnedStream stream(cuda::Gpu::get(device));
  queue(device, stream.stream());
  constexpr int at_once = 100;
  for (auto step : state) {
    for (int i = 0; i < at_once; ++i) queue(device, stream.stream());
    stream.synchronize();
  }
  state.counters["us"] = benchmark::Counter(static_cast<double>(state.iterations()) * at_once / 1e6,
                                            benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void gpu_convert_frame(benchmark::State& state, PixelFormat from, PixelFormat to) {
  Image source, target;
  on_gpu(state, [&](Device device, Stream stream) {
    if (!source.defined()) {
      source = Image::allocate(from, 1920, 1080, {}, device);
      copy_image(noise(from), source);
      target = Image::allocate(to, 1920, 1080, {}, device);
    }
    convert_image(source, target, stream);
  });
}

void gpu_preprocess_frame(benchmark::State& state, Resize resize, bool channels_last) {
  Preprocess spec = Preprocess::preset("imagenet");
  spec.width = spec.height = 224;
  spec.dtype = DType::f16;
  spec.resize = resize;
  spec.channels_last = channels_last;
  Image source;
  Tensor output;
  on_gpu(state, [&](Device device, Stream stream) {
    if (!source.defined()) {
      source = Image::allocate(PixelFormat::nv12, 1920, 1080, {}, device);
      copy_image(noise(PixelFormat::nv12), source);
      output = to_tensor(source, spec);
    }
    preprocess(source, spec, output, 0, {1, stream});
  });
}

BENCHMARK_CAPTURE(gpu_preprocess_frame, nv12_bilinear_nchw, Resize::bilinear, false)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(gpu_preprocess_frame, nv12_bilinear_nhwc, Resize::bilinear, true)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(gpu_preprocess_frame, nv12_antialias_nchw, Resize::antialias, false)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(gpu_convert_frame, nv12_rgb24, PixelFormat::nv12, PixelFormat::rgb24)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(gpu_convert_frame, nv12_rgb_planar, PixelFormat::nv12, PixelFormat::rgb_planar)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(gpu_convert_frame, rgb24_nv12, PixelFormat::rgb24, PixelFormat::nv12)
    ->Unit(benchmark::kMicrosecond);

} // namespace
} // namespace lanner::bench
