#include "backends/cpu/elementwise/tile_functions.h"

namespace lanner {

const TileFunctions& tile_functions_baseline() {
  static const TileFunctions functions = LANNER_SIMD::make_tile_functions();
  return functions;
}

} // namespace lanner
