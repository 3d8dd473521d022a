#include "device/cuda/needed_driver.h"

#include <fmt/format.h>

#include "device/cuda/driver.h"
#include "device/cuda/fatbin.h"

namespace lanner::cuda {
namespace {

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

/// 0 where the driver does not tell it.
int capability_of(const Driver& driver, int index) {
  int device = 0, major = 0, minor = 0;
  const bool told = driver.device_get(&device, index) == success &&
                    driver.device_attribute(&major, attribute_capability_major, device) == success &&
                    driver.device_attribute(&minor, attribute_capability_minor, device) == success;
  return told ? 10 * major + minor : 0;
}

} // namespace

int needed_driver(const EmbeddedCode& code, int capability) {
  return capability > code.capability ? code.release : code.release / 1000 * 1000;
}

std::string driver_shortfall(const EmbeddedCode& code, int capability, int version) {
  const int needed = needed_driver(code, capability);
  if (version == 0 || version >= needed) return {};
  return fmt::format("the driver is of CUDA {}, older than CUDA {}, which this build's GPU kernels need; "
                     "update NVIDIA's driver",
                     version_text(version), version_text(needed));
}

std::string driver_shortfall(Device gpu) {
  const DriverStatus& status = driver_status();
  if (!status.driver || gpu.is_host() || gpu.index >= status.devices) return {};
  const EmbeddedCode code{fatbin_release(), fatbin_capability()};
  return driver_shortfall(code, capability_of(*status.driver, gpu.index), status.version);
}

} // namespace lanner::cuda
