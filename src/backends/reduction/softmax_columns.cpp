#include "backends/reduction/softmax_columns.h"

#include "backends/cpu/for_this_cpu.h"

namespace lanner {

const SoftmaxFunctions& softmax_functions() {
  static const SoftmaxFunctions& chosen =
      for_this_cpu(softmax_functions_baseline, softmax_functions_avx2, softmax_functions_avx512);
  return chosen;
}

} // namespace lanner
