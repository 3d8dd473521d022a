#include "backends/cpu/reduce/places_loops.h"

namespace lanner {

const PlaceFunctions& place_functions_avx2() {
  return LANNER_SIMD::places;
}

} // namespace lanner
