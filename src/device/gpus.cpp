#include "device/gpus.h"

#include <array>

#include <fmt/format.h>

#include "device/cuda/driver.h"

namespace lanner {
namespace {

Gpu describe(const cuda::Driver& driver, int index) {
  Gpu gpu;
  int device = 0;
  if (driver.device_get(&device, index) != cuda::success) return gpu;
  std::array<char, 256> name{};
  if (driver.device_name(name.data(), static_cast<int>(name.size()) - 1, device) == cuda::success)
    gpu.name = name.data();
  std::size_t bytes = 0;
  if (driver.device_memory(&bytes, device) == cuda::success) gpu.memory_bytes = bytes;
  static_cast<void>(driver.device_attribute(&gpu.major, cuda::attribute_capability_major, device));
  static_cast<void>(driver.device_attribute(&gpu.minor, cuda::attribute_capability_minor, device));
  return gpu;
}

} // namespace

GpuList list_gpus() {
  const cuda::DriverStatus& status = cuda::driver_status();
  GpuList list;
  list.path = status.path;
  list.reason = status.reason;
  if (status.version) list.version = fmt::format("{}.{}", status.version / 1000, status.version % 1000 / 10);
  for (int i = 0; status.driver && i < status.devices; ++i) list.gpus.push_back(describe(*status.driver, i));
  return list;
}

} // namespace lanner
