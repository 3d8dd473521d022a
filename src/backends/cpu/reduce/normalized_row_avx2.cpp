#include "backends/cpu/reduce/normalized_row_loops.h"

namespace lanner {

RowNormalizer row_normalizer_avx2() {
  return LANNER_SIMD::normalize_row;
}

} // namespace lanner
