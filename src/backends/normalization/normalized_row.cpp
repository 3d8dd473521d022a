#include "backends/normalization/normalized_row.h"

#include "backends/cpu/for_this_cpu.h"

namespace lanner {

RowNormalizer row_normalizer() {
  static const RowNormalizer chosen =
      for_this_cpu(row_normalizer_baseline, row_normalizer_avx2, row_normalizer_avx512);
  return chosen;
}

} // namespace lanner
