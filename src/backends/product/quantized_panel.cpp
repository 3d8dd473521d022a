#include "backends/product/quantized_panel.h"

#include "backends/cpu/for_this_cpu.h"

namespace lanner {

QuantizedFunction quantized_function() {
  static const QuantizedFunction chosen =
      for_this_cpu(quantized_function_baseline, quantized_function_avx2, quantized_function_avx512);
  return chosen;
}

} // namespace lanner
