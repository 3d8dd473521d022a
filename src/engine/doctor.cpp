#include <lanner/doctor.h>

#include <algorithm>
#include <mutex>
#include <thread>

#include <sys/sysinfo.h>

#include <fmt/format.h>

#include <lanner/log.h>
#include <lanner/threads.h>

#include "backends/backends.h"
#include "base/file/module.h"
#include "base/options.h"
#include "device/cpu.h"
#include "device/cuda/driver.h"
#include "device/cuda/fatbin.h"
#include "device/cuda/needed_driver.h"
#include "device/cuda/shared_library.h"
#include "device/gpus.h"

namespace lanner {
namespace {

constexpr Device first_gpu{DeviceKind::cuda, 0};

std::string own_kernels() {
  if (cpu_features().has_avx512()) return "AVX-512";
  return cpu_features().has_avx2() ? "AVX2" : "baseline";
}

std::uint64_t memory_bytes() {
  struct sysinfo facts {};
  return sysinfo(&facts) == 0 ? std::uint64_t{facts.totalram} * facts.mem_unit : 0;
}

PartStatus backend_status(const BackendStatus& backend) {
  PartStatus status{backend.name, backend.found, backend.detail, {}};
  return status;
}

void look_for_gpus(MachineFacts& facts) {
  const GpuList list = list_gpus();
  facts.driver = {"CUDA driver", !list.gpus.empty(), list.reason, {}};
  if (facts.driver.found) facts.driver.detail = fmt::format("CUDA {} by {}", list.version, list.path);
  if (const std::string shortfall = cuda::driver_shortfall(first_gpu); !shortfall.empty()) {
    facts.driver.found = false;
    facts.driver.detail = fmt::format("{} ({})", shortfall, list.path);
  }
  for (const Gpu& gpu : list.gpus) facts.gpus.push_back({gpu.name, gpu.memory_bytes, gpu.major, gpu.minor});
}

} // namespace

Device automatic_device() {
  if (cuda::driver_status().devices <= 0 || cuda::embedded_fatbins().empty()) return {};
  if (const std::string shortfall = cuda::driver_shortfall(first_gpu); !shortfall.empty()) {
    static std::once_flag told;
    std::call_once(told, [&] { log_message(LogLevel::warning, "device auto is the CPU: " + shortfall); });
    return {};
  }
  const auto found = [](const BackendStatus& library) { return library.found; };
  return std::ranges::all_of(gpu_library_statuses(), found) ? first_gpu : Device{};
}

void add_library_folders(std::span<const std::filesystem::path> folders) {
  cuda::add_library_folders(folders);
}

MachineFacts machine_facts() {
  MachineFacts facts;
  facts.cpu = cpu_name();
  for (const std::string_view name : cpu_features().names()) facts.features.emplace_back(name);
  facts.kernels = own_kernels();
  facts.cores = static_cast<int>(std::thread::hardware_concurrency());
  facts.usable_cores = usable_cores();
  facts.threads = default_threads();
  facts.cache_l1 = cache_sizes().l1;
  facts.cache_l2 = cache_sizes().l2;
  facts.cache_l3 = cache_sizes().l3;
  facts.memory_bytes = memory_bytes();
  for (const BackendStatus& backend : backend_statuses()) facts.backends.push_back(backend_status(backend));
  for (const BackendStatus& library : gpu_library_statuses())
    facts.gpu_libraries.push_back(backend_status(library));
  look_for_gpus(facts);
  facts.cuda_kernels = cuda::embedded_fatbins().size();
  facts.cache_folder = options().cache_folder;
  facts.problems = options().problems;
  return facts;
}

} // namespace lanner
