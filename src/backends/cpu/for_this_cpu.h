#pragma once
// Dispatch to code compiled for several instruction sets.

#include "device/cpu.h"

namespace lanner {

/// Calls the best of three functions that this processor supports.
template<typename Result>
Result for_this_cpu(Result (*baseline)(), Result (*avx2)(), Result (*avx512)()) {
  return cpu_features().has_avx512() ? avx512() : cpu_features().has_avx2() ? avx2() : baseline();
}

} // namespace lanner
