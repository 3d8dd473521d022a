// Compiled once for each instruction set.

#include "backends/product/quantized_loops.h"

namespace lanner {

QuantizedFunction LANNER_FOR_ISA(quantized_function)() {
  return LANNER_SIMD::run_quantized;
}

} // namespace lanner
