#pragma once
// How fast a machine is, by its fastest kernels.

#include <lanner/machine_limits.h>

namespace lanner {

/// As measure_machine(), without keeping what was found.
MachineLimits measured_limits(Device device, const Control& control);

} // namespace lanner
