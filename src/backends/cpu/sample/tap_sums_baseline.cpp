#include "backends/cpu/sample/tap_sums_loops.h"

namespace lanner {

const TapSumFunctions& tap_sum_functions_baseline() {
  return LANNER_SIMD::tap_sums;
}

} // namespace lanner
