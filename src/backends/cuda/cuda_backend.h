#pragma once

#include "graph/tactic.h"

namespace lanner::cuda {

/// Kernels of one NVIDIA GPU: libraries, kernels that Lanner carries, kernels compiled while tuning.
const Backend& backend();

} // namespace lanner::cuda
