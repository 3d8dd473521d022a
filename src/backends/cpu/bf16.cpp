#include "backends/cpu/bf16.h"

#include "backends/cpu/for_this_cpu.h"

namespace lanner {

const Bf16Functions& bf16_functions() {
  static const Bf16Functions chosen = for_this_cpu(bf16_baseline, bf16_avx2, bf16_avx512);
  return chosen;
}

} // namespace lanner
