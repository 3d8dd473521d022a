#pragma once

#include <span>

#include "backends/family.h"

namespace lanner::cuda {

/// Kernels of one NVIDIA GPU: libraries, kernels that Lanner carries, kernels compiled while tuning.
const Backend& backend();

/// What it is made of. Each family offers storages on the target's device.
std::span<const KernelFamily> families();

} // namespace lanner::cuda
