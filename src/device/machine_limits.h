#pragma once
// How fast a machine is at its best: what estimates of kernels are made of.

#include <filesystem>
#include <string>

#include <lanner/device.h>
#include <lanner/machine_limits.h>

namespace lanner {

/// Positive, finite and within what a machine can have.
bool plausible(const MachineLimits& limits, DeviceKind kind) noexcept;

/// For builds that must give the same plan on every machine, and for machines that were never measured.
MachineLimits shipped_limits(DeviceKind kind) noexcept;

/// What was measured on a processor like this one (`isa`, as isa_of() tells), else the shipped ones. A file
/// that is damaged counts as none.
MachineLimits known_limits(const std::filesystem::path& file, DeviceKind kind, const std::string& isa);
/// Adds to the file or replaces what it holds of this processor; written beside and renamed, under a lock.
void keep_limits(const std::filesystem::path& file, const std::string& isa, const MachineLimits& limits);

} // namespace lanner
