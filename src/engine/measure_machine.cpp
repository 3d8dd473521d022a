#include "engine/measure_machine.h"

#include <fmt/format.h>

#include "backends/backends.h"
#include "base/options.h"
#include "device/cpu.h"
#include "device/machine_limits.h"
#include "engine/builder.h"

namespace lanner {
namespace {

/// Name of the processor: its features alone do not identify it.
std::string processor(Device device) {
  return device.is_host() ? fmt::format("{} {}", cpu_name(), isa_of(device)) : isa_of(device);
}

std::filesystem::path limits_file(const std::filesystem::path& folder = options().cache_folder) {
  return folder.empty() ? folder : folder / "machine.txt";
}

} // namespace

MachineLimits measure_machine(Device device, const Control& control) {
  const MachineLimits limits =
      builder_for("measuring a machine", "run lanner doctor --measure").measure(device, control);
  if (!limits_file().empty()) keep_limits(limits_file(), processor(device), limits);
  return limits;
}

MachineLimits machine_limits(Device device) {
  return known_limits(limits_file(), device.kind, processor(device));
}

MachineLimits machine_limits_in(const std::filesystem::path& folder, Device device) {
  const std::filesystem::path file = limits_file(folder);
  std::error_code missing;
  if (file.empty() || !std::filesystem::exists(file, missing)) return machine_limits(device);
  return known_limits(file, device.kind, processor(device));
}

} // namespace lanner
