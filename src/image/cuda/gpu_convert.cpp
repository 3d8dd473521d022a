#include "image/cuda/gpu_convert.h"

#include "device/cuda/code.h"
#include "image/cuda/device_convert.h"

namespace lanner {

void convert_on_gpu(const ConvertJob& job, Stream stream) {
  const cuda::Gpu& gpu = cuda::Gpu::get(job.to.device);
  const cuda::Current current(gpu);
  DeviceConvert parameters = device_convert(job);
  const bool chroma = info(job.to.format).yuv;
  const Plane& covered = job.to.planes[chroma ? 1 : 0];
  const cuda::FunctionHandle function =
      cuda::embedded_function(gpu, "convert", chroma ? "lanner_convert_chroma" : "lanner_convert_pixels");
  constexpr unsigned across = 32, down = 4;
  const auto blocks = [](std::int32_t size, unsigned block) {
    return (static_cast<unsigned>(size) + block - 1) / block;
  };
  void* arguments[] = {&parameters};
  cuda::check(cuda::driver().launch(function, blocks(covered.width, across), blocks(covered.height, down), 1,
                                    across, down, 1, 0, static_cast<cuda::StreamHandle>(stream.handle),
                                    arguments, nullptr),
              "cuLaunchKernel");
}

} // namespace lanner
