// Compiled once for each instruction set.

#include "backends/cpu/reduce/places_loops.h"

namespace lanner {

const PlaceFunctions& LANNER_FOR_ISA(place_functions)() {
  return LANNER_SIMD::places;
}

} // namespace lanner
