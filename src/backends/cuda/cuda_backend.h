#pragma once

#include <span>

#include "backends/family.h"

namespace lanner::cuda {

/// Kernels of one NVIDIA GPU: of libraries, embedded in Lanner, or compiled while tuning.
const Backend& backend();

/// Its families. Each offers storages on the target's device.
std::span<const KernelFamily> families();

} // namespace lanner::cuda
