#include "backends/cpu/elementwise/tile_functions.h"

namespace lanner {

TileFunctions tile_functions_avx512() {
  return LANNER_SIMD::tiles_of(formulas::all);
}

} // namespace lanner
