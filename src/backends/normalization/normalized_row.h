#pragma once
// The inner loops of layer, RMS, group and instance normalisation.

#include <cstdint>

namespace lanner {

/// With s = x + added (x where `added` is null), k = i / shared: y[i] = (s[i] - mean) / sqrt(variance +
/// epsilon) * scale[k] + bias[k]. Unless `centred`, the mean is taken to be 0. `y` may be `x`.
struct NormalizedRow {
  const float* x;
  const float* added; ///< May be null.
  float* sum;         ///< Output for s; null where it has no other reader.
  float* y;
  const float* scale;
  const float* bias; ///< May be null.
  std::int64_t length;
  std::int64_t shared; ///< Adjacent elements that share one scale and one bias.
  float epsilon;
  bool centred;
};

using RowNormalizer = void (*)(const NormalizedRow& row);

/// The function for this processor.
RowNormalizer row_normalizer();

// One for each instruction set.
RowNormalizer row_normalizer_baseline();
RowNormalizer row_normalizer_avx2();
RowNormalizer row_normalizer_avx512();

} // namespace lanner
