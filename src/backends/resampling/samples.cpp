#include "backends/resampling/samples.h"

#include "backends/cpu/for_this_cpu.h"

namespace lanner {

const SampleFunctions& sample_functions() {
  static const SampleFunctions& chosen =
      for_this_cpu(sample_functions_baseline, sample_functions_avx2, sample_functions_avx512);
  return chosen;
}

} // namespace lanner
