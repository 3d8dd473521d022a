#include "backends/cpu/elementwise/instruction.h"

#include "device/cpu.h"

namespace lanner {

const TileFunctions& tile_functions() {
  static const TileFunctions& chosen = cpu_features().has_avx512() ? tile_functions_avx512()
                                       : cpu_features().has_avx2() ? tile_functions_avx2()
                                                                   : tile_functions_baseline();
  return chosen;
}

} // namespace lanner
