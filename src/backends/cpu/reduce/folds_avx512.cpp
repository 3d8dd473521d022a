#include "backends/cpu/reduce/folds_loops.h"

namespace lanner {

const FoldFunctions& fold_functions_avx512() {
  return LANNER_SIMD::folds;
}

} // namespace lanner
