#pragma once
// The loops of sums.h over the vectors of simd.h; see tile_functions.h for how it is compiled.

#include <utility>

#include "backends/cpu/reduce/sums.h"
#include "backends/cpu/simd.h"

namespace lanner::LANNER_SIMD {

/// Sums at once, which hides how long an addition takes, and additions in one chain.
inline constexpr int sum_chains = 8;
inline constexpr std::int64_t sum_chain_length = 64;
inline constexpr int sum_vectors = 4;
inline constexpr int sum_columns = sum_vectors * static_cast<int>(lanes);

/// totals[v] = sum over r < length of the vector at from + r * stride + v * lanes. `load_at` reads one.
template<int vectors, typename Load>
void sum_vectors_of(const float* from, std::int64_t length, std::int64_t stride, Load load_at,
                    F (&totals)[vectors]) {
  constexpr int rows = sum_chains / vectors;
  for (std::int64_t r = 0; r < length;) {
    const std::int64_t end = r + rows * sum_chain_length < length ? r + rows * sum_chain_length : length;
    F sums[rows][vectors]{};
    for (; r + rows <= end; r += rows)
      for (int row = 0; row < rows; ++row)
        for (int v = 0; v < vectors; ++v) sums[row][v] += load_at(from + (r + row) * stride + v * lanes);
    for (; r < end; ++r)
      for (int v = 0; v < vectors; ++v) sums[0][v] += load_at(from + r * stride + v * lanes);
    for (int half = rows / 2; half > 0; half /= 2)
      for (int row = 0; row < half; ++row)
        for (int v = 0; v < vectors; ++v) sums[row][v] += sums[row + half][v];
    for (int v = 0; v < vectors; ++v) totals[v] += sums[0][v];
  }
}

template<std::int64_t by, std::size_t... lane>
F turned(F x, std::index_sequence<lane...> /*lanes*/) {
  return __builtin_shufflevector(x, x, ((lane + by) % lanes)...);
}
/// Halves are added until one number is left.
template<std::int64_t half>
float sum_of_lanes(F x) {
  const F sum = x + turned<half>(x, std::make_index_sequence<lanes>{});
  if constexpr (half == 1)
    return sum[0];
  else
    return sum_of_lanes<half / 2>(sum);
}

/// Numbers that lie next to each other.
inline float sum_of(const float* from, std::int64_t length) {
  F total[1]{};
  sum_vectors_of<1>(from, length / lanes, lanes, load, total);
  total[0] += load_some(from + length / lanes * lanes, length % lanes);
  return sum_of_lanes<lanes / 2>(total[0]);
}

inline void run_sums(const Sums& s) {
  if (s.inner == 1) {
    s.to[0] = sum_of(s.from, s.length) / s.divisor;
    return;
  }
  const F divisor = splat(s.divisor);
  std::int64_t i = s.first;
  for (; i + sum_columns <= s.last; i += sum_columns) {
    F totals[sum_vectors]{};
    sum_vectors_of<sum_vectors>(s.from + i, s.length, s.inner, load, totals);
    for (int v = 0; v < sum_vectors; ++v) store(s.to + i + v * lanes, totals[v] / divisor);
  }
  for (; i < s.last; i += lanes) {
    const std::int64_t count = s.last - i < lanes ? s.last - i : lanes;
    F total[1]{};
    if (count == lanes)
      sum_vectors_of<1>(s.from + i, s.length, s.inner, load, total);
    else
      sum_vectors_of<1>(
          s.from + i, s.length, s.inner, [count](const float* at) { return load_some(at, count); }, total);
    store_some(s.to + i, total[0] / divisor, count);
  }
}

} // namespace lanner::LANNER_SIMD
