#include "backends/cpu/sample/samples_loops.h"

namespace lanner {

const SampleFunctions& sample_functions_avx512() {
  return LANNER_SIMD::samples;
}

} // namespace lanner
