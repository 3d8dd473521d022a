#include "backends/cpu/reduce/softmax_columns_loops.h"

namespace lanner {

const SoftmaxFunctions& softmax_functions_avx512() {
  return LANNER_SIMD::softmaxes;
}

} // namespace lanner
