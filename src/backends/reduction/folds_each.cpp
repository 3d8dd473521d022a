// Compiled once for each instruction set.

#include "backends/reduction/folds_loops.h"

namespace lanner {

const FoldFunctions& LANNER_FOR_ISA(fold_functions)() {
  return LANNER_SIMD::folds;
}

} // namespace lanner
