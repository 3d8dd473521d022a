// Compiled once for each instruction set.

#include "backends/reduction/softmax_columns_loops.h"

namespace lanner {

const SoftmaxFunctions& LANNER_FOR_ISA(softmax_functions)() {
  return LANNER_SIMD::softmaxes;
}

} // namespace lanner
