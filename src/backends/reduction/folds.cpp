#include "backends/reduction/folds.h"

#include "backends/cpu/for_this_cpu.h"

namespace lanner {

const FoldFunctions& fold_functions() {
  static const FoldFunctions& chosen =
      for_this_cpu(fold_functions_baseline, fold_functions_avx2, fold_functions_avx512);
  return chosen;
}

} // namespace lanner
