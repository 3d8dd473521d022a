#include "backends/recurrent/cells.h"

#include "backends/cpu/for_this_cpu.h"

namespace lanner {

const CellFunctions& cell_functions() {
  static const CellFunctions& chosen =
      for_this_cpu(cell_functions_baseline, cell_functions_avx2, cell_functions_avx512);
  return chosen;
}

} // namespace lanner
