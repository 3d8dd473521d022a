#pragma once
// Measures a machine's speed with its fastest kernels.

#include <lanner/machine_limits.h>

namespace lanner {

/// As measure_machine(), without caching.
MachineLimits measured_limits(Device device, const Control& control);

} // namespace lanner
