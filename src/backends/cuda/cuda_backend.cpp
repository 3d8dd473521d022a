#include "backends/cuda/cuda_backend.h"

#include <fmt/format.h>

#include "backends/cuda/families.h"
#include "device/cuda/cublaslt.h"
#include "device/cuda/cudnn.h"
#include "device/cuda/gpu.h"
#include "device/cuda/nvrtc.h"

namespace lanner::cuda {

namespace {

std::string library_versions() {
  return fmt::format("cudnn {} cublaslt {} nvrtc {}", cudnn::library_status().version,
                     cublaslt::library_status().version, nvrtc_status().version);
}

/// Families use the driver of the target's GPU.
void in_context(const Target& target, const std::function<void()>& work) {
  const Current current(Gpu::get(target.device));
  work();
}

} // namespace

std::span<const KernelFamily> families() {
  static const KernelFamily all[] = {
#define LANNER_CUDA_FAMILY(name) name##_family,
#include "backends/families.inc"
  };
  return all;
}

const Backend& backend() {
  static const FamilyBackend made({.name = "cuda",
                                   .families = families(),
                                   .device = DeviceKind::cuda,
                                   .version = library_versions,
                                   .around = in_context});
  return made;
}

} // namespace lanner::cuda
