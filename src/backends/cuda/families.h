#pragma once
// The kernel families of the CUDA backend, as listed in backends/families.inc. A family's own file
// includes this only where it names another family, so that adding one recompiles few others.

#include "backends/family.h"

namespace lanner::cuda {

#define LANNER_CUDA_FAMILY(name) extern const KernelFamily name##_family;
#include "backends/families.inc"

} // namespace lanner::cuda
