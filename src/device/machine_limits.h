#pragma once
// Peak speed of a machine: the basis of kernel cost estimates.

#include <filesystem>
#include <string>

#include <lanner/device.h>
#include <lanner/machine_limits.h>

namespace lanner {

/// Positive, finite and within what a machine can have.
bool plausible(const MachineLimits& limits, DeviceKind kind) noexcept;

/// Built-in limits, for builds that must give the same plan on every machine, and for unmeasured machines.
MachineLimits shipped_limits(DeviceKind kind) noexcept;

/// The limits measured on a processor like this one (`isa`, from isa_of()), else the built-in ones. A damaged
/// file counts as empty.
MachineLimits known_limits(const std::filesystem::path& file, DeviceKind kind, const std::string& isa);
/// Adds or replaces this processor's entry of the file; written atomically, under a lock.
void keep_limits(const std::filesystem::path& file, const std::string& isa, const MachineLimits& limits);

} // namespace lanner
