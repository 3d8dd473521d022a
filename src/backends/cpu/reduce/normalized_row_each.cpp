// Compiled once for each instruction set.

#include "backends/cpu/reduce/normalized_row_loops.h"

namespace lanner {

RowNormalizer LANNER_FOR_ISA(row_normalizer)() {
  return LANNER_SIMD::normalize_row;
}

} // namespace lanner
