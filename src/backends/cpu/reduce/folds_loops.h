#pragma once
// The loops of folds.h over the vectors of simd.h; see tile_functions.h for how it is compiled.

#include <type_traits>
#include <utility>

#include "backends/cpu/reduce/folds.h"
#include "backends/cpu/simd.h"

namespace lanner::LANNER_SIMD {

/// Folds at once, which hides how long an addition takes, and additions in one chain.
inline constexpr int fold_chains = 8;
inline constexpr std::int64_t fold_chain_length = 64;
inline constexpr int fold_vectors = 4;
inline constexpr int fold_columns = fold_vectors * static_cast<int>(lanes);

struct SumOf {
  static constexpr float start = 0;
  static F step(F total, F x) { return total + x; }
};
/// NaN from the first one on, as the definition of reduce_max has it.
struct MaxOf {
  static constexpr float start = -__builtin_inff();
  static F step(F total, F x) { return (x > total) | (x != x) ? x : total; }
};
struct MinOf {
  static constexpr float start = __builtin_inff();
  static F step(F total, F x) { return (x < total) | (x != x) ? x : total; }
};

/// totals[v] = what the vectors at from + r * stride + v * lanes with r < length come to. `load_at` reads
/// one.
template<typename Kind, int vectors, typename Load>
void fold_vectors_of(const float* from, std::int64_t length, std::int64_t stride, Load load_at,
                     F (&totals)[vectors]) {
  constexpr int rows = fold_chains / vectors;
  for (F& total : totals) total = splat(Kind::start);
  for (std::int64_t r = 0; r < length;) {
    const std::int64_t end = r + rows * fold_chain_length < length ? r + rows * fold_chain_length : length;
    F parts[rows][vectors];
    for (auto& row : parts)
      for (F& part : row) part = splat(Kind::start);
    const auto take = [&](F& part, std::int64_t row, int v) {
      const float* at = from + row * stride + v * lanes;
      // Rows may be pages apart, where no processor guesses that their next columns follow.
      if constexpr (vectors > 1) __builtin_prefetch(at + 2 * fold_columns);
      part = Kind::step(part, load_at(at));
    };
    for (; r + rows <= end; r += rows)
      for (int row = 0; row < rows; ++row)
        for (int v = 0; v < vectors; ++v) take(parts[row][v], r + row, v);
    for (; r < end; ++r)
      for (int v = 0; v < vectors; ++v) take(parts[0][v], r, v);
    for (int half = rows / 2; half > 0; half /= 2)
      for (int row = 0; row < half; ++row)
        for (int v = 0; v < vectors; ++v) parts[row][v] = Kind::step(parts[row][v], parts[row + half][v]);
    for (int v = 0; v < vectors; ++v) totals[v] = Kind::step(totals[v], parts[0][v]);
  }
}

template<std::int64_t by, std::size_t... lane>
F turned(F x, std::index_sequence<lane...> /*lanes*/) {
  return __builtin_shufflevector(x, x, ((lane + by) % lanes)...);
}
/// Halves are folded until one number is left.
template<typename Kind, std::int64_t half = lanes / 2>
float fold_lanes(F x) {
  const F both = Kind::step(x, turned<half>(x, std::make_index_sequence<lanes>{}));
  if constexpr (half == 1)
    return both[0];
  else
    return fold_lanes<Kind, half / 2>(both);
}

/// The last ones of a row, and `rest` in the other lanes.
template<std::size_t... lane>
F load_last(const float* from, std::int64_t count, float rest, std::index_sequence<lane...> /*lanes*/) {
  constexpr I places{static_cast<std::int32_t>(lane)...};
  return places < static_cast<std::int32_t>(count) ? load_some(from, count) : splat(rest);
}

/// Numbers that lie next to each other.
template<typename Kind>
float fold_of(const float* from, std::int64_t length) {
  F total[1];
  fold_vectors_of<Kind>(from, length / lanes, lanes, load, total);
  const F last = load_last(from + length / lanes * lanes, length % lanes, Kind::start,
                           std::make_index_sequence<lanes>{});
  return fold_lanes<Kind>(Kind::step(total[0], last));
}

template<typename Kind>
void fold_columns_of(const Columns& c) {
  constexpr bool divides = std::is_same_v<Kind, SumOf>;
  if (c.inner == 1) {
    const float total = fold_of<Kind>(c.from, c.length);
    c.to[0] = divides ? total / c.divisor : total;
    return;
  }
  const F divisor = splat(c.divisor);
  const auto result = [divisor](F total) { return divides ? total / divisor : total; };
  std::int64_t i = c.first;
  for (; i + fold_columns <= c.last; i += fold_columns) {
    F totals[fold_vectors];
    fold_vectors_of<Kind>(c.from + i, c.length, c.inner, load, totals);
    for (int v = 0; v < fold_vectors; ++v) store(c.to + i + v * lanes, result(totals[v]));
  }
  for (; i < c.last; i += lanes) {
    const std::int64_t count = c.last - i < lanes ? c.last - i : lanes;
    F total[1];
    if (count == lanes)
      fold_vectors_of<Kind>(c.from + i, c.length, c.inner, load, total);
    else
      fold_vectors_of<Kind>(
          c.from + i, c.length, c.inner, [count](const float* at) { return load_some(at, count); }, total);
    store_some(c.to + i, result(total[0]), count);
  }
}

/// Of this instruction set.
inline constexpr FoldFunctions folds{fold_columns, fold_columns_of<SumOf>, fold_columns_of<MaxOf>,
                                     fold_columns_of<MinOf>};

} // namespace lanner::LANNER_SIMD
