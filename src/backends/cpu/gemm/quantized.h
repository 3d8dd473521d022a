#pragma once
// Products with few rows whose weights stay in the few bits that the model holds them in.

#include "backends/family.h"

namespace lanner {

extern const KernelFamily quantized_gemm_family;

} // namespace lanner
