#include "backends/cpu/reduce/places_loops.h"

namespace lanner {

const PlaceFunctions& place_functions_baseline() {
  return LANNER_SIMD::places;
}

} // namespace lanner
