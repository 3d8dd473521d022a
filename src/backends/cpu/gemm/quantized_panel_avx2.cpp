#include "backends/cpu/gemm/quantized_loops.h"

namespace lanner {

QuantizedFunction quantized_function_avx2() {
  return LANNER_SIMD::run_quantized;
}

} // namespace lanner
