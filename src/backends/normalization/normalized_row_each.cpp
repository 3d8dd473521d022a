// Compiled once for each instruction set.

#include "backends/normalization/normalized_row_loops.h"

namespace lanner {

RowNormalizer LANNER_FOR_ISA(row_normalizer)() {
  return LANNER_SIMD::normalize_row;
}

} // namespace lanner
