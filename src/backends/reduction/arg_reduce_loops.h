#pragma once
// The loops of arg_reduce.h over the vectors of simd.h; see tile_functions.h for how it is compiled.

#include "backends/cpu/simd.h"
#include "backends/reduction/arg_reduce.h"

namespace lanner::LANNER_SIMD {

inline constexpr int arg_vectors = 4;

/// Whether one number beats another. The minimum is the maximum of the negated numbers.
template<bool smallest, bool last>
struct Ahead {
  template<typename V>
  static V seen(V x) {
    return smallest ? -x : x;
  }
  static I of(F x, F best) { return last ? x >= best : x > best; }
  static bool of(float x, float best) { return last ? x >= best : x > best; }
};

/// The best elements of so many vectors of columns; the last vector holds `count`.
template<typename Kind, int vectors>
void column_indices(const ArgColumns& c, std::int64_t column, std::int64_t count) {
  F best[vectors];
  I index[vectors] = {};
  const auto load_at = [&](std::int64_t row, int v) {
    const float* at = c.from + row * c.inner + column + v * lanes;
    // Prefetched as in the folds of distant rows: hardware does not predict their next columns.
    if constexpr (vectors > 1) __builtin_prefetch(at + 2 * arg_vectors * lanes);
    return Kind::seen(load_up_to(at, v + 1 < vectors ? lanes : count));
  };
  for (int v = 0; v < vectors; ++v) best[v] = load_at(0, v);
  for (std::int64_t row = 1; row < c.length; ++row)
    for (int v = 0; v < vectors; ++v) {
      const F x = load_at(row, v);
      const I ahead = Kind::of(x, best[v]);
      best[v] = ahead ? x : best[v];
      index[v] = ahead ? I{} + static_cast<std::int32_t>(row) : index[v];
    }
  for (int v = 0; v < vectors; ++v)
    for (std::int64_t i = 0; i < (v + 1 < vectors ? lanes : count); ++i)
      c.to[column + v * lanes + i] = index[v][i];
}

/// Contiguous numbers: the best of each lane, then of all, then of the last few.
template<typename Kind, bool last>
std::int64_t row_index(const float* from, std::int64_t length) {
  float best = Kind::seen(from[0]);
  std::int64_t index = 0, i = 0;
  if (length >= lanes) {
    F leaders = splat(best);
    I indices{}, now{};
    for (int lane = 0; lane < lanes; ++lane) now[lane] = lane;
    for (; i + lanes <= length; i += lanes, now += static_cast<std::int32_t>(lanes)) {
      const F x = Kind::seen(load(from + i));
      const I ahead = Kind::of(x, leaders);
      leaders = ahead ? x : leaders;
      indices = ahead ? now : indices;
    }
    for (int lane = 0; lane < lanes; ++lane) {
      const bool sooner = last ? indices[lane] > index : indices[lane] < index;
      if (!(leaders[lane] > best || (leaders[lane] == best && sooner))) continue;
      best = leaders[lane];
      index = indices[lane];
    }
  }
  for (; i < length; ++i) {
    const float x = Kind::seen(from[i]);
    if (!Kind::of(x, best)) continue;
    best = x;
    index = i;
  }
  return index;
}

template<bool smallest, bool last>
void arg_of(const ArgColumns& c) {
  using Kind = Ahead<smallest, last>;
  if (c.inner == 1) {
    c.to[0] = row_index<Kind, last>(c.from, c.length);
    return;
  }
  std::int64_t i = c.first;
  for (; i + arg_vectors * lanes <= c.last; i += arg_vectors * lanes)
    column_indices<Kind, arg_vectors>(c, i, lanes);
  for (; i < c.last; i += lanes) column_indices<Kind, 1>(c, i, c.last - i < lanes ? c.last - i : lanes);
}

/// For this instruction set.
inline constexpr ArgFunctions indices{
    arg_vectors * static_cast<int>(lanes),
    {{arg_of<false, false>, arg_of<false, true>}, {arg_of<true, false>, arg_of<true, true>}}};

} // namespace lanner::LANNER_SIMD
