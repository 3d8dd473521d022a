#include "backends/reduction/arg_reduce.h"

#include "backends/cpu/for_this_cpu.h"

namespace lanner {

const ArgFunctions& arg_functions() {
  static const ArgFunctions& chosen =
      for_this_cpu(arg_functions_baseline, arg_functions_avx2, arg_functions_avx512);
  return chosen;
}

} // namespace lanner
