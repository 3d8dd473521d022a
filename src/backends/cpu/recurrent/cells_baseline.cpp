#include "backends/cpu/recurrent/cells_loops.h"

namespace lanner {

const CellFunctions& cell_functions_baseline() {
  static constexpr CellFunctions functions = LANNER_SIMD::cells_beside(panel_function_baseline);
  return functions;
}

} // namespace lanner
