#pragma once
// The loops of normalized_row.h over the vectors of simd.h; see tile_functions.h for how it is compiled.

#include "backends/normalization/normalized_row.h"
#include "backends/reduction/folds_loops.h"

namespace lanner::LANNER_SIMD {

/// The sum of (from[i] - mean)^2.
inline float sum_of_squares(const float* from, std::int64_t length, float mean) {
  F total[1];
  fold_vectors_of<SumOf>(
      from, length / lanes, lanes,
      [mean](const float* at) {
        const F distance = load(at) - mean;
        return distance * distance;
      },
      total);
  float sum = fold_lanes<SumOf>(total[0])[0];
  for (std::int64_t i = length / lanes * lanes; i < length; ++i) sum += (from[i] - mean) * (from[i] - mean);
  return sum;
}

/// The last step where adjacent elements share parameters.
inline void scale_channels(const NormalizedRow& row, const float* from, float mean, float factor) {
  for (std::int64_t first = 0, k = 0; first < row.length; first += row.shared, ++k) {
    const F scale = splat(factor * row.scale[k]), bias = splat(row.bias ? row.bias[k] : 0);
    each_vector(row.shared, [&](std::int64_t i, std::int64_t count) {
      const F distance = load_up_to(from + first + i, count) - mean;
      store_up_to(row.y + first + i, multiply_add(distance, scale, bias), count);
    });
  }
}

inline void normalize_row(const NormalizedRow& row) {
  const float* from = row.x;
  if (row.added) {
    float* const to = row.sum ? row.sum : row.y;
    each_vector(row.length, [&](std::int64_t i, std::int64_t count) {
      store_up_to(to + i, load_up_to(row.x + i, count) + load_up_to(row.added + i, count), count);
    });
    from = to;
  }
  const auto length = static_cast<float>(row.length);
  const float mean = row.centred ? fold_of<SumOf>(from, row.length)[0] / length : 0;
  const float variance = sum_of_squares(from, row.length, mean) / length;
  const float factor = 1 / __builtin_sqrtf(variance + row.epsilon);
  if (row.shared > 1) return scale_channels(row, from, mean, factor);
  each_vector(row.length, [&](std::int64_t i, std::int64_t count) {
    const F unit = (load_up_to(from + i, count) - mean) * factor;
    const F bias = row.bias ? load_up_to(row.bias + i, count) : F{};
    store_up_to(row.y + i, multiply_add(unit, load_up_to(row.scale + i, count), bias), count);
  });
}

} // namespace lanner::LANNER_SIMD
