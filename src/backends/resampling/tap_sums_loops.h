#pragma once
// The loops of tap_sums.h over the vectors of simd.h; see tile_functions.h for how it is compiled.

#include "backends/resampling/elements_at.h"
#include "backends/resampling/tap_sums.h"

namespace lanner::LANNER_SIMD {

/// The rows that one result sums: position p is the row at from + p * inner.
struct ResampledRows {
  const std::int32_t* indices;
  const float* weights;
  std::int32_t taps;
  std::int64_t base, inner;
  const float* from;

  const float* row(std::int32_t t) const { return from + (indices[t] - base) * inner; }
  F weight(std::int32_t t) const { return splat(weights[t]); }
  std::int32_t count() const { return taps; }
};

/// For a fixed number of rows: addresses and weights stay in registers.
template<int taps>
struct KnownRows {
  const float* rows[taps];
  F weights[taps];

  [[gnu::always_inline]] explicit KnownRows(const ResampledRows& all) {
#pragma GCC unroll 4
    for (int t = 0; t < taps; ++t) {
      rows[t] = all.row(t);
      weights[t] = all.weight(t);
    }
  }
  const float* row(int t) const {
    return rows[t];
  }
  F weight(int t) const {
    return weights[t];
  }
  static constexpr int count() {
    return taps;
  }
};

/// `Load` reads a vector.
template<int vectors, typename Rows, typename Load>
[[gnu::always_inline]] inline void sum_rows(const Rows& rows, std::int64_t k, Load load_at,
                                            F (&totals)[vectors]) {
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) totals[v] = F{};
  const std::int32_t taps = rows.count();
#pragma GCC unroll 4
  for (std::int32_t t = 0; t < taps; ++t)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v)
      totals[v] = multiply_add(rows.weight(t), load_at(rows.row(t) + k + v * lanes), totals[v]);
}

template<typename Rows>
[[gnu::always_inline]] inline void tap_row(const Rows& rows, std::int64_t inner, float* to) {
  constexpr int vectors = 4;
  std::int64_t k = 0;
  for (; k + vectors * lanes <= inner; k += vectors * lanes) {
    F totals[vectors];
    sum_rows(rows, k, load, totals);
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) store(to + k + v * lanes, totals[v]);
  }
  for (; k + lanes <= inner; k += lanes) {
    F total[1];
    sum_rows(rows, k, load, total);
    store(to + k, total[0]);
  }
  if (const std::int64_t rest = inner - k; rest > 0) {
    F total[1];
    sum_rows(
        rows, k, [rest](const float* at) { return load_some(at, rest); }, total);
    store_some(to + k, total[0], rest);
  }
}

/// Rows of one vector, where the fixed cost per row matters most.
inline void tap_vectors(const TapList& list, std::int64_t first, std::int64_t last, std::int64_t base,
                        const float* from, float* to) {
  const std::int32_t* const indices = list.indices;
  const float* const weights = list.weights;
  std::int32_t t = list.begins[first];
  for (std::int64_t i = first; i < last; ++i, to += lanes) {
    F total{};
    for (const std::int32_t end = list.begins[i + 1]; t < end; ++t)
      total = multiply_add(splat(weights[t]), load(from + (indices[t] - base) * lanes), total);
    store(to, total);
  }
}

inline void tap_rows(const TapList& list, std::int64_t first, std::int64_t last, std::int64_t base,
                     const float* from, std::int64_t inner, float* to) {
  if (inner == lanes) return tap_vectors(list, first, last, base, from, to);
  for (std::int64_t i = first; i < last; ++i, to += inner) {
    const std::int32_t begin = list.begins[i], taps = list.begins[i + 1] - begin;
    const ResampledRows rows{list.indices + begin, list.weights + begin, taps, base, inner, from};
    if (taps == 1)
      tap_row(KnownRows<1>(rows), inner, to);
    else if (taps == 2)
      tap_row(KnownRows<2>(rows), inner, to);
    else if (taps == 4)
      tap_row(KnownRows<4>(rows), inner, to);
    else
      tap_row(rows, inner, to);
  }
}

/// Contiguous elements held in registers as a table: a permute finds those at any positions much faster than
/// a gather.
template<LineVector::Reach reach>
struct Window {
#if defined(__AVX2__)
  F low, high;

  Window(const float* from, std::int64_t rest) : low(load_up_to(from, rest < lanes ? rest : lanes)), high{} {
    if (reach == LineVector::Reach::two)
      high = load_up_to(from + lanes, rest - lanes < lanes ? rest - lanes : lanes);
  }
  F at(I indices) const {
#if defined(__AVX512F__)
    if (reach == LineVector::Reach::one) return F(_mm512_permutexvar_ps(__m512i(indices), __m512(low)));
    return F(_mm512_permutex2var_ps(__m512(low), __m512i(indices), __m512(high)));
#else
    const F first = F(_mm256_permutevar8x32_ps(__m256(low), __m256i(indices)));
    if (reach == LineVector::Reach::one) return first;
    return indices >= static_cast<std::int32_t>(lanes)
               ? F(_mm256_permutevar8x32_ps(__m256(high), __m256i(indices)))
               : first;
#endif
  }
#else
  const float* from;

  Window(const float* from, std::int64_t) : from(from) {}
  F at(I indices) const {
    return elements_at(from, indices & (indices >= 0));
  }
#endif
};

template<>
struct Window<LineVector::Reach::far> {
  const float* from;

  Window(const float* from, std::int64_t) : from(from) {}
  F at(I indices) const { return elements_at(from, indices & (indices >= 0)); }
};

template<LineVector::Reach reach>
F sum_of_line(const TapLine& line, const LineVector& vector, const float* from) {
  const Window<reach> window(from + vector.base, line.size - vector.base);
  const std::int32_t* indices = line.indices + vector.begin;
  const float* weights = line.weights + vector.begin;
  F total{};
  std::int32_t t = 0;
  for (; t < vector.common; ++t, indices += lanes, weights += lanes)
    total = multiply_add(load(weights), window.at(load_offsets(indices)), total);
  // A lane without a tap must not multiply infinity by 0.
  for (; t < vector.taps; ++t, indices += lanes, weights += lanes) {
    const I at = load_offsets(indices);
    total = multiply_add(load(weights), as_float(as_bits(window.at(at)) & (at >= 0)), total);
  }
  return total;
}

inline void tap_lines(const TapLine& line, std::int64_t first, std::int64_t last, const float* from,
                      float* to, std::int64_t lines) {
  using enum LineVector::Reach;
  for (std::int64_t n = 0; n < lines; ++n, from += line.size, to += last - first)
    for (std::int64_t i = first; i < last; i += lanes) {
      const LineVector& vector = line.vectors[i / lanes];
      const F total = vector.reach == one   ? sum_of_line<one>(line, vector, from)
                      : vector.reach == two ? sum_of_line<two>(line, vector, from)
                                            : sum_of_line<far>(line, vector, from);
      store_up_to(to + (i - first), total, last - i < lanes ? last - i : lanes);
    }
}

/// For this instruction set.
inline constexpr TapSumFunctions tap_sums{lanes, tap_rows, tap_lines};

} // namespace lanner::LANNER_SIMD
