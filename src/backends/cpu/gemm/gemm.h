#pragma once
// Products with few rows and packed weights: what fully connected layers are at small batches.

#include "backends/family.h"

namespace lanner {

extern const KernelFamily gemm_family;

} // namespace lanner
