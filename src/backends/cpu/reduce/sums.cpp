#include "backends/cpu/reduce/sums.h"

#include "backends/cpu/for_this_cpu.h"

namespace lanner {

const SumFunction& sum_function() {
  static const SumFunction& chosen =
      for_this_cpu(sum_function_baseline, sum_function_avx2, sum_function_avx512);
  return chosen;
}

} // namespace lanner
