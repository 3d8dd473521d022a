#include "backends/cpu/recurrent/cells_loops.h"

namespace lanner {

const CellFunctions& cell_functions_avx512() {
  static constexpr CellFunctions functions = LANNER_SIMD::cells_beside(panel_function_avx512);
  return functions;
}

} // namespace lanner
