// Compiled once for each instruction set.

#include "backends/elementwise/tile_functions.h"

namespace lanner {

TileFunctions LANNER_FOR_ISA(tile_functions)() {
  return LANNER_SIMD::tiles_of(formulas::all);
}

} // namespace lanner
