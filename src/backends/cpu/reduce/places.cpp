#include "backends/cpu/reduce/places.h"

#include "backends/cpu/for_this_cpu.h"

namespace lanner {

const PlaceFunctions& place_functions() {
  static const PlaceFunctions& chosen =
      for_this_cpu(place_functions_baseline, place_functions_avx2, place_functions_avx512);
  return chosen;
}

} // namespace lanner
