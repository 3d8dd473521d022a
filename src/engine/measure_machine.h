#pragma once
// Cached measurements of a machine.

#include <filesystem>

#include <lanner/machine_limits.h>

namespace lanner {

/// The limits that builds for this device use: those cached in `folder`; where that is empty or has none,
/// machine_limits().
MachineLimits machine_limits_in(const std::filesystem::path& folder, Device device);

} // namespace lanner
