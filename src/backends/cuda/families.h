#pragma once
// The kernel families of the CUDA backend, as backends/families.inc lists them. A family's own file needs
// none of it, so that a new one leaves the others as they were compiled.

#include "backends/family.h"

namespace lanner::cuda {

#define LANNER_CUDA_FAMILY(name) extern const KernelFamily name##_family;
#include "backends/families.inc"

} // namespace lanner::cuda
