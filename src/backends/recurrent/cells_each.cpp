// Compiled once for each instruction set.

#include "backends/recurrent/cells_loops.h"

namespace lanner {

const CellFunctions& LANNER_FOR_ISA(cell_functions)() {
  static constexpr CellFunctions functions = LANNER_SIMD::cell_functions_with(LANNER_FOR_ISA(panel_function));
  return functions;
}

} // namespace lanner
