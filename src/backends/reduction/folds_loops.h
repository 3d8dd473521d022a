#pragma once
// The loops of folds.h over the vectors of simd.h; see tile_functions.h for how it is compiled.

#include <utility>

#include "backends/cpu/simd.h"
#include "backends/cpu/vector_math.h"
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

struct LogarithmOfSum : SumOf {
  static F result(F total, float /*divisor*/) { return logarithm(total); }
};
/// Squares in float, which may overflow or underflow.
template<bool root>
struct NarrowSquaresOf : SumOf {
  static F step(F total, F x) { return multiply_add(x, x, total); }
  static F result(F total, float /*divisor*/) { return root ? square_root(total) : total; }
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

/// In float where the sum shows that no square that counts was out of its range, else in double.
template<bool root>
void squares_of_columns(const Columns& c) {
  fold_columns_of<NarrowSquaresOf<root>>(c);
  constexpr float least = root ? 1e-10F : 1e-20F, most = root ? 1e19F : 1e38F;
  const std::int64_t first = c.inner == 1 ? 0 : c.first, last = c.inner == 1 ? 1 : c.last;
  for (std::int64_t i = first; i < last; ++i)
    if (!(c.to[i] >= least && c.to[i] <= most)) return fold_columns_of<SquaresOf<root>>(c);
}

/// Finite where a maximum is not, so that e^(x - maximum) is what it is for infinite x.
inline F finite(F x) {
  return at_least(at_most(x, __FLT_MAX__), -__FLT_MAX__);
}

/// The logarithm of the sum of e^x, along so many adjacent vectors of columns.
template<int vectors, typename Load>
void log_sum_exp_of(const float* from, const Columns& c, Load load_at, F (&results)[vectors]) {
  fold_vectors_of<MaxOf>(from, c.length, c.inner, load_at, results);
  F largest[vectors], sums[vectors], chains[vectors];
  for (int v = 0; v < vectors; ++v) {
    largest[v] = finite(results[v]);
    sums[v] = F{};
  }
  for (std::int64_t r = 0; r < c.length;) {
    const std::int64_t end = r + fold_chain_length < c.length ? r + fold_chain_length : c.length;
    for (F& chain : chains) chain = F{};
    for (; r < end; ++r)
      for (int v = 0; v < vectors; ++v)
        chains[v] += exponential(load_at(from + r * c.inner + v * lanes) - largest[v]);
    for (int v = 0; v < vectors; ++v) sums[v] += chains[v];
  }
  for (int v = 0; v < vectors; ++v) results[v] = largest[v] + logarithm(sums[v]);
}

/// The same of contiguous numbers.
inline float log_sum_exp_of_row(const float* from, std::int64_t length) {
  const F largest = finite(fold_of<MaxOf>(from, length));
  const std::int64_t whole = length / lanes;
  F sum{};
  for (std::int64_t i = 0; i < whole;) {
    const std::int64_t end = i + fold_chain_length < whole ? i + fold_chain_length : whole;
    F chain{};
    for (; i < end; ++i) chain += exponential(load(from + i * lanes) - largest);
    sum += chain;
  }
  if (length % lanes > 0)
    sum += exponential(
        load_last(from + whole * lanes, length % lanes, MaxOf::rest, std::make_index_sequence<lanes>{}) -
        largest);
  return (largest + logarithm(fold_lanes<SumOf>(sum)))[0];
}

inline void log_sum_exp_of_columns(const Columns& c) {
  if (c.inner == 1) {
    c.to[0] = log_sum_exp_of_row(c.from, c.length);
    return;
  }
  std::int64_t i = c.first;
  for (; i + fold_columns <= c.last; i += fold_columns) {
    F results[fold_vectors];
    log_sum_exp_of(c.from + i, c, load, results);
    for (int v = 0; v < fold_vectors; ++v) store(c.to + i + v * lanes, results[v]);
  }
  for (; i < c.last; i += lanes) {
    const std::int64_t count = c.last - i < lanes ? c.last - i : lanes;
    F results[1];
    log_sum_exp_of(
        c.from + i, c, [count](const float* at) { return load_up_to(at, count); }, results);
    store_up_to(c.to + i, results[0], count);
  }
}

/// For this instruction set.
inline constexpr FoldFunctions folds{fold_columns,
                                     fold_columns_of<SumOf>,
                                     fold_columns_of<MagnitudesOf>,
                                     squares_of_columns<false>,
                                     squares_of_columns<true>,
                                     fold_columns_of<MaxOf>,
                                     fold_columns_of<MinOf>,
                                     fold_columns_of<LogarithmOfSum>,
                                     log_sum_exp_of_columns};

} // namespace lanner::LANNER_SIMD
