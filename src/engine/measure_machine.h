#pragma once
// What was measured of a machine, by whose caches.

#include <filesystem>

#include <lanner/machine_limits.h>

namespace lanner {

/// What builds on this device use: as `folder` has it; where that is empty or has nothing, machine_limits().
MachineLimits machine_limits_in(const std::filesystem::path& folder, Device device);

} // namespace lanner
