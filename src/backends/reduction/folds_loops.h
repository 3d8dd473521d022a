#pragma once
// The loops of folds.h over the vectors of simd.h; see tile_functions.h for how it is compiled.

#include <utility>

#include "backends/cpu/simd.h"
#include "backends/reduction/folds.h"

namespace lanner::LANNER_SIMD {

/// Additions per chain.
inline constexpr std::int64_t fold_chain_length = 64;
inline constexpr int fold_vectors = 4;
inline constexpr int fold_columns = fold_vectors * static_cast<int>(lanes);

/// Base of the float reductions: `chains` of them at once hide the latency of an addition.
struct FloatFold {
  using Total = F;
  static constexpr int chains = 8;
  static F result(F total, float /*divisor*/) { return total; }
};
/// `rest` is the neutral element, and so is `start`.
struct SumOf : FloatFold {
  static constexpr float rest = 0;
  static F start() { return splat(rest); }
  static F step(F total, F x) { return total + x; }
  static F join(F a, F b) { return a + b; }
  static F result(F total, float divisor) { return total / splat(divisor); }
};
struct MagnitudesOf : SumOf {
  static F step(F total, F x) { return total + magnitude(x); }
};
/// NaN from the first one on, as in the definition of reduce_max.
struct MaxOf : FloatFold {
  static constexpr float rest = -__builtin_inff();
  static F start() { return splat(rest); }
  static F step(F total, F x) { return (x > total) | (x != x) ? x : total; }
  static F join(F a, F b) { return step(a, b); }
};
struct MinOf : FloatFold {
  static constexpr float rest = __builtin_inff();
  static F start() { return splat(rest); }
  static F step(F total, F x) { return (x < total) | (x != x) ? x : total; }
  static F join(F a, F b) { return step(a, b); }
};

/// A vector of floats in double.
struct Wide {
  D low, high;
};
template<std::size_t... lane>
Wide widened(F x, std::index_sequence<lane...> /*half the lanes*/) {
  return {to_double(__builtin_shufflevector(x, x, lane...)),
          to_double(__builtin_shufflevector(x, x, (lane + lanes / 2)...))};
}
template<std::size_t... lane>
F narrowed(Wide x, std::index_sequence<lane...> /*lanes*/) {
  return __builtin_shufflevector(to_float(x.low), to_float(x.high), lane...);
}

/// In double: squares of floats may overflow or underflow.
template<bool root>
struct SquaresOf {
  using Total = Wide;
  static constexpr int chains = 4;
  static constexpr float rest = 0;
  static Wide start() { return {D{}, D{}}; }
  static Wide step(Wide total, F x) {
    const Wide wide = widened(x, std::make_index_sequence<lanes / 2>{});
    return {total.low + wide.low * wide.low, total.high + wide.high * wide.high};
  }
  static Wide join(Wide a, Wide b) { return {a.low + b.low, a.high + b.high}; }
  static F result(Wide total, float /*divisor*/) {
    if (root) total = {square_root(total.low), square_root(total.high)};
    return narrowed(total, std::make_index_sequence<lanes>{});
  }
};

template<std::int64_t by, std::size_t... lane>
F rotated(F x, std::index_sequence<lane...> /*lanes*/) {
  return __builtin_shufflevector(x, x, ((lane + by) % lanes)...);
}
/// Reduces all lanes by halves; every lane gets the result.
template<typename Kind, std::int64_t half = lanes / 2>
F fold_lanes(F x) {
  const F both = Kind::join(x, rotated<half>(x, std::make_index_sequence<lanes>{}));
  if constexpr (half == 1)
    return both;
  else
    return fold_lanes<Kind, half / 2>(both);
}
template<typename Kind>
Wide fold_lanes(Wide x) {
  double sum = 0;
  for (int i = 0; i < lanes / 2; ++i) sum += x.low[i] + x.high[i];
  return {D{} + sum, D{} + sum};
}

/// totals[v] = the reduction of the vectors at from + r * stride + v * lanes over r < length. `load_at` reads
/// one.
template<typename Kind, int vectors, typename Load>
void fold_vectors_of(const float* from, std::int64_t length, std::int64_t stride, Load load_at,
                     typename Kind::Total (&totals)[vectors]) {
  using Total = typename Kind::Total;
  constexpr int rows = Kind::chains / vectors;
  for (Total& total : totals) total = Kind::start();
  for (std::int64_t r = 0; r < length;) {
    const std::int64_t end = r + rows * fold_chain_length < length ? r + rows * fold_chain_length : length;
    Total parts[rows][vectors];
    for (auto& row : parts)
      for (Total& part : row) part = Kind::start();
    const auto take = [&](Total& part, std::int64_t row, int v) {
      const float* at = from + row * stride + v * lanes;
      // Rows may be pages apart, where hardware does not prefetch their next columns.
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
        for (int v = 0; v < vectors; ++v) parts[row][v] = Kind::join(parts[row][v], parts[row + half][v]);
    for (int v = 0; v < vectors; ++v) totals[v] = Kind::join(totals[v], parts[0][v]);
  }
}

/// The last elements of a row, with `rest` in the other lanes.
template<std::size_t... lane>
F load_last(const float* from, std::int64_t count, float rest, std::index_sequence<lane...> /*lanes*/) {
  constexpr I places{static_cast<std::int32_t>(lane)...};
  return places < static_cast<std::int32_t>(count) ? load_some(from, count) : splat(rest);
}

/// The reduction of contiguous numbers, in every lane.
template<typename Kind>
typename Kind::Total fold_of(const float* from, std::int64_t length) {
  typename Kind::Total total[1];
  fold_vectors_of<Kind>(from, length / lanes, lanes, load, total);
  const F last =
      load_last(from + length / lanes * lanes, length % lanes, Kind::rest, std::make_index_sequence<lanes>{});
  return fold_lanes<Kind>(Kind::step(total[0], last));
}

template<typename Kind>
void fold_columns_of(const Columns& c) {
  if (c.inner == 1) {
    c.to[0] = Kind::result(fold_of<Kind>(c.from, c.length), c.divisor)[0];
    return;
  }
  std::int64_t i = c.first;
  for (; i + fold_columns <= c.last; i += fold_columns) {
    typename Kind::Total totals[fold_vectors];
    fold_vectors_of<Kind>(c.from + i, c.length, c.inner, load, totals);
    for (int v = 0; v < fold_vectors; ++v) store(c.to + i + v * lanes, Kind::result(totals[v], c.divisor));
  }
  for (; i < c.last; i += lanes) {
    const std::int64_t count = c.last - i < lanes ? c.last - i : lanes;
    typename Kind::Total total[1];
    if (count == lanes)
      fold_vectors_of<Kind>(c.from + i, c.length, c.inner, load, total);
    else
      fold_vectors_of<Kind>(
          c.from + i, c.length, c.inner, [count](const float* at) { return load_some(at, count); }, total);
    store_some(c.to + i, Kind::result(total[0], c.divisor), count);
  }
}

/// For this instruction set.
inline constexpr FoldFunctions folds{fold_columns,
                                     fold_columns_of<SumOf>,
                                     fold_columns_of<MagnitudesOf>,
                                     fold_columns_of<SquaresOf<false>>,
                                     fold_columns_of<SquaresOf<true>>,
                                     fold_columns_of<MaxOf>,
                                     fold_columns_of<MinOf>};

} // namespace lanner::LANNER_SIMD
