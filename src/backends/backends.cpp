#include "backends/backends.h"

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/onednn/module.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/reference/reference_backend.h"
#include "base/module.h"
#include "device/cpu.h"
#include "device/cuda/gpu.h"

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
    result.status.detail = fmt::format("oneDNN {} by {}", table.onednn_version, module.path);
    if (*table.foreign_threads)
      result.status.detail += fmt::format("; its loops use libgomp: {}", table.foreign_threads);
    return result;
  }();
  return opened;
}

} // namespace

std::vector<const Backend*> backends_for(const Target& target) {
  std::vector<const Backend*> found;
  if (!target.device.is_host()) return {&cuda::backend(), &reference_backend()};
  if (onednn().backend) found.push_back(onednn().backend.get());
  found.push_back(&cpu_backend());
  found.push_back(&reference_backend());
  return found;
}

std::string isa_of(Device device) {
  return device.is_host() ? cpu_features().to_string() : cuda::Gpu::get(device).signature();
}

std::vector<BackendStatus> backend_statuses() {
  return {onednn().status,
          {"cpu", true, cpu_features().to_string()},
          {"reference", true, "loops of the operators' definitions"}};
}

} // namespace lanner
