// Compiled once for each instruction set.

#include "backends/resampling/tap_sums_loops.h"

namespace lanner {

const TapSumFunctions& LANNER_FOR_ISA(tap_sum_functions)() {
  return LANNER_SIMD::tap_sums;
}

} // namespace lanner
