#include "backends/elementwise/integer_tiles.h"

#include "backends/cpu/for_this_cpu.h"

namespace lanner {

const IntegerTiles& integer_tiles() {
  static const IntegerTiles chosen =
      for_this_cpu(integer_tiles_baseline, integer_tiles_avx2, integer_tiles_avx512);
  return chosen;
}

} // namespace lanner
