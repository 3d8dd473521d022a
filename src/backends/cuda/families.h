#pragma once
// The kernel families of the CUDA backend, as listed in backends/families.inc. A family's own file does not
// include this, so that adding a family recompiles no other.

#include "backends/family.h"

namespace lanner::cuda {

#define LANNER_CUDA_FAMILY(name) extern const KernelFamily name##_family;
#include "backends/families.inc"

} // namespace lanner::cuda
