#include "image/cuda/gpu_rotate.h"

#include <map>
#include <mutex>

#include "device/cuda/code.h"

namespace lanner {

namespace {

// Never destroyed: drivers are gone before static objects.
cuda::FunctionHandle function_of(const cuda::Gpu& gpu) {
  static auto* const mutex = new std::mutex;
  static auto* const all = new std::map<Device, cuda::FunctionHandle>;
  const std::lock_guard lock(*mutex);
  const auto found = all->find(gpu.device());
  if (found != all->end()) return found->second;
  return (*all)[gpu.device()] = cuda::embedded_function(gpu, "rotate", "lanner_rotate_plane");
}

} // namespace

void rotate_on_gpu(const RotatedPlane& plane, Device device, Stream stream) {
  const cuda::Gpu& gpu = cuda::Gpu::get(device);
  const cuda::Current current(gpu);
  constexpr unsigned across = 32, down = 8;
  const auto blocks = [](int size, unsigned block) {
    return (static_cast<unsigned>(size) + block - 1) / block;
  };
  RotatedPlane parameters = plane;
  void* arguments[] = {&parameters};
  cuda::check(cuda::driver().launch(function_of(gpu), blocks(plane.width, across), blocks(plane.height, down),
                                    1, across, down, 1, 0, static_cast<cuda::StreamHandle>(stream.handle),
                                    arguments, nullptr),
              "cuLaunchKernel");
}

} // namespace lanner
