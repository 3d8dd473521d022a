// Compiled once for each instruction set.

#include "backends/resampling/samples_loops.h"

namespace lanner {

const SampleFunctions& LANNER_FOR_ISA(sample_functions)() {
  return LANNER_SIMD::samples;
}

} // namespace lanner
