#include "backends/elementwise/instruction.h"

#include "backends/cpu/for_this_cpu.h"

namespace lanner {

const TileFunctions& tile_functions() {
  static const TileFunctions chosen =
      for_this_cpu(tile_functions_baseline, tile_functions_avx2, tile_functions_avx512);
  return chosen;
}

} // namespace lanner
