#include "image/cuda/gpu_convert.h"

#include <map>
#include <mutex>

#include "device/cuda/code.h"
#include "image/cuda/device_convert.h"

namespace lanner {

namespace {

struct ConvertFunctions {
  cuda::FunctionHandle pixels, chroma;
};

// Never destroyed: drivers are gone before static objects.
ConvertFunctions functions_of(const cuda::Gpu& gpu) {
  static auto* const mutex = new std::mutex;
  static auto* const all = new std::map<Device, ConvertFunctions>;
  const std::lock_guard lock(*mutex);
  const auto found = all->find(gpu.device());
  if (found != all->end()) return found->second;
  const ConvertFunctions functions{cuda::embedded_function(gpu, "convert", "lanner_convert_pixels"),
                                   cuda::embedded_function(gpu, "convert", "lanner_convert_chroma")};
  return (*all)[gpu.device()] = functions;
}

} // namespace

void convert_on_gpu(const ConvertJob& job, Stream stream) {
  const cuda::Gpu& gpu = cuda::Gpu::get(job.to.device);
  const cuda::Current current(gpu);
  DeviceConvert parameters = device_convert(job);
  const bool chroma = format_info(job.to.format).yuv;
  const Plane& covered = job.to.planes[chroma ? 1 : 0];
  const ConvertFunctions functions = functions_of(gpu);
  constexpr unsigned across = 32, down = 4;
  const auto blocks = [](std::int32_t size, unsigned block) {
    return (static_cast<unsigned>(size) + block - 1) / block;
  };
  void* arguments[] = {&parameters};
  cuda::check(cuda::driver().launch(chroma ? functions.chroma : functions.pixels,
                                    blocks(covered.width, across), blocks(covered.height, down), 1, across,
                                    down, 1, 0, static_cast<cuda::StreamHandle>(stream.handle), arguments,
                                    nullptr),
              "cuLaunchKernel");
}

} // namespace lanner
