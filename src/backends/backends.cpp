#include "backends/backends.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "backends/cpu/cpu_backend.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/custom/custom_backend.h"
#include "backends/onednn/module.h"
#include "backends/reference/reference_backend.h"
#include "base/check.h"
#include "base/file/module.h"
#include "base/text/joined.h"
#include "base/text/one_line.h"
#include "device/cpu.h"
#include "device/cuda/cublaslt.h"
#include "device/cuda/cudnn.h"
#include "device/cuda/gpu.h"
#include "device/cuda/needed_driver.h"
#include "device/cuda/nvrtc.h"

namespace lanner {

namespace {

struct Onednn {
  std::unique_ptr<Backend> backend;
  BackendStatus status;
};

const Onednn& onednn() {
  static const Onednn opened = [] {
    Onednn result;
    const ModuleResult& module = load_module("onednn", OnednnModule::version);
    result.status = {"onednn", module.table != nullptr, module.reason};
    if (!module.table) return result;
    const auto& table = *static_cast<const OnednnModule*>(module.table);
    result.backend = table.create_backend();
    result.status.detail = fmt::format("oneDNN {} from {}", table.onednn_version, module.path);
    if (*table.foreign_threads)
      result.status.detail += fmt::format("; its loops use libgomp: {}", table.foreign_threads);
    return result;
  }();
  return opened;
}

constexpr std::array<std::string_view, 4> known{"cuda", "onednn", "cpu", "reference"};

bool is_among(std::span<const std::string> names, std::string_view name) {
  return names.empty() || std::ranges::find(names, name) != names.end();
}

} // namespace

std::vector<std::string> checked_backends(std::span<const std::string> names) {
  for (const std::string& name : names)
    check(std::ranges::find(known, name) != known.end(), ErrorCode::invalid_argument,
          "unknown backend '{}'; expected {}", one_line(name, 100), joined(known, ", "));
  check(names.empty() || !is_among(names, "onednn") || onednn().backend, ErrorCode::unsupported,
        "backend onednn: {}", onednn().status.detail);
  std::vector<std::string> kept;
  for (const std::string_view name : known)
    if (is_among(names, name)) kept.emplace_back(name);
  return kept;
}

void check_backends(Device device, std::span<const std::string> names) {
  check(device.is_host() || is_among(names, "cuda"), ErrorCode::invalid_argument,
        "device {} needs the backend cuda, but the environment has only {}; add it, or "
        "use the device cpu",
        device.to_string(), joined(names, ", "));
}

std::vector<const Backend*> backends_for(const Target& target, std::span<const std::string> names) {
  std::vector<const Backend*> found;
  if (!target.device.is_host()) {
    found.push_back(&custom_backend(DeviceKind::cuda));
    if (is_among(names, "cuda")) found.push_back(&cuda::backend());
  }
  found.push_back(&custom_backend(DeviceKind::cpu));
  if (is_among(names, "onednn") && onednn().backend) found.push_back(onednn().backend.get());
  if (is_among(names, "cpu")) found.push_back(&cpu_backend());
  found.push_back(&reference_backend());
  return found;
}

std::string isa_of(Device device) {
  if (device.is_host()) return cpu_features().to_string();
  const std::string shortfall = cuda::driver_shortfall(device);
  check(shortfall.empty(), ErrorCode::unsupported, "{}: {}, or use the device cpu", device.to_string(),
        shortfall);
  return fmt::format("{} cudnn {} cublaslt {} nvrtc {}", cuda::Gpu::get(device).signature(),
                     cudnn::library_status().version, cublaslt::library_status().version,
                     cuda::nvrtc_status().version);
}

/// A library that provides GPU kernels.
template<typename Version>
BackendStatus library(std::string name, bool found, const Version& version, const std::string& path,
                      const std::string& reason, const std::string& package) {
  if (found) return {std::move(name), true, fmt::format("{} from {}", version, path)};
  return {
      std::move(name), false,
      fmt::format("{}; remedy: pip install {}, or set LANNER_LIBRARY_PATH to its folder", reason, package)};
}

std::vector<BackendStatus> gpu_library_statuses() {
  if (cuda::driver_status().devices == 0) return {};
  const auto& nvrtc = cuda::nvrtc_status();
  const auto& cudnn = cudnn::library_status();
  const auto& cublaslt = cublaslt::library_status();
  return {
      library("nvrtc", nvrtc.found, nvrtc.version, nvrtc.path, nvrtc.reason, "nvidia-cuda-nvrtc"),
      library("cudnn", cudnn.api != nullptr, cudnn.version, cudnn.path, cudnn.reason, "nvidia-cudnn-cu13"),
      library("cublaslt", cublaslt.api != nullptr, cublaslt.version, cublaslt.path, cublaslt.reason,
              "nvidia-cublas")};
}

std::vector<BackendStatus> backend_statuses() {
  return {onednn().status,
          {"cpu", true, cpu_features().to_string()},
          {"reference", true, "loops of the operators' definitions"}};
}

} // namespace lanner
