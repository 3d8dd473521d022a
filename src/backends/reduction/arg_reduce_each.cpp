// Compiled once for each instruction set.

#include "backends/reduction/arg_reduce_loops.h"

namespace lanner {

const ArgFunctions& LANNER_FOR_ISA(arg_functions)() {
  return LANNER_SIMD::indices;
}

} // namespace lanner
