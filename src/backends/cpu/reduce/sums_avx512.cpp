#include "backends/cpu/reduce/sums_loops.h"

namespace lanner {

const SumFunction& sum_function_avx512() {
  static constexpr SumFunction function{LANNER_SIMD::sum_columns, LANNER_SIMD::run_sums};
  return function;
}

} // namespace lanner
