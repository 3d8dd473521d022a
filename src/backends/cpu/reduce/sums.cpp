#include "backends/cpu/reduce/sums.h"

#include "device/cpu.h"

namespace lanner {

const SumFunction& sum_function() {
  static const SumFunction& chosen = cpu_features().has_avx512() ? sum_function_avx512()
                                     : cpu_features().has_avx2() ? sum_function_avx2()
                                                                 : sum_function_baseline();
  return chosen;
}

} // namespace lanner
