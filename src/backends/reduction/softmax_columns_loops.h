#pragma once
// The loops of softmax_columns.h over the vectors of simd.h; see tile_functions.h for how it is compiled.

#include "backends/cpu/vector_math.h"
#include "backends/reduction/folds_loops.h"
#include "backends/reduction/softmax_columns.h"

namespace lanner::LANNER_SIMD {

/// Calls take(r) for r < length, and join() after every chain of additions.
template<typename Take, typename Join>
[[gnu::always_inline]] inline void in_chains(std::int64_t length, Take take, Join join) {
  for (std::int64_t r = 0; r < length;) {
    const std::int64_t end = r + fold_chain_length < length ? r + fold_chain_length : length;
    for (; r < end; ++r) take(r);
    join();
  }
}

/// So many adjacent vectors of columns. `load_at` and `store_at` move one.
template<bool logarithm, int vectors, typename Load, typename Store>
[[gnu::always_inline]] inline void softmax_vectors(const SoftmaxColumns& c, std::int64_t first, Load load_at,
                                                   Store store_at) {
  const auto from = [&](std::int64_t r, int v) { return c.from + r * c.from_stride + first + v * lanes; };
  const auto to = [&](std::int64_t r, int v) { return c.to + r * c.to_stride + first + v * lanes; };
  F largest[vectors], chain[vectors], sum[vectors];
  for (int v = 0; v < vectors; ++v) {
    largest[v] = MaxOf::start();
    chain[v] = sum[v] = F{};
  }
  for (std::int64_t r = 0; r < c.length; ++r)
    for (int v = 0; v < vectors; ++v) largest[v] = MaxOf::step(largest[v], load_at(from(r, v)));
  in_chains(
      c.length,
      [&](std::int64_t r) {
        for (int v = 0; v < vectors; ++v) {
          const F power = exponential(load_at(from(r, v)) - largest[v]);
          if constexpr (!logarithm) store_at(to(r, v), power);
          chain[v] += power;
        }
      },
      [&] {
        for (int v = 0; v < vectors; ++v) {
          sum[v] += chain[v];
          chain[v] = F{};
        }
      });
  for (int v = 0; v < vectors; ++v) sum[v] = logarithm ? LANNER_SIMD::logarithm(sum[v]) : 1.0F / sum[v];
  for (std::int64_t r = 0; r < c.length; ++r)
    for (int v = 0; v < vectors; ++v)
      store_at(to(r, v), logarithm ? load_at(from(r, v)) - largest[v] - sum[v] : load_at(to(r, v)) * sum[v]);
}

template<bool logarithm>
void softmax_columns_of(const SoftmaxColumns& c) {
  constexpr int vectors = 4;
  std::int64_t i = 0;
  for (; i + vectors * lanes <= c.count; i += vectors * lanes)
    softmax_vectors<logarithm, vectors>(c, i, load, store);
  for (; i < c.count; i += lanes) {
    const std::int64_t rest = c.count - i < lanes ? c.count - i : lanes;
    softmax_vectors<logarithm, 1>(
        c, i, [rest](const float* at) { return load_up_to(at, rest); },
        [rest](float* at, F value) { store_up_to(at, value, rest); });
  }
}

template<bool logarithm>
void softmax_row_of(const SoftmaxRow& row) {
  const F largest = fold_of<MaxOf>(row.from, row.length);
  const std::int64_t whole = row.length / lanes, rest = row.length % lanes;
  F sum{}, chain{};
  in_chains(
      whole,
      [&](std::int64_t i) {
        const F power = exponential(load(row.from + i * lanes) - largest);
        if constexpr (!logarithm) store(row.to + i * lanes, power);
        chain += power;
      },
      [&] {
        sum += chain;
        chain = F{};
      });
  if (rest > 0) {
    // Lanes without an element add e^-inf. (Where the maximum is -inf, all is NaN anyway.)
    const std::int64_t at = whole * lanes;
    const F power =
        exponential(load_last(row.from + at, rest, MaxOf::rest, std::make_index_sequence<lanes>{}) - largest);
    if constexpr (!logarithm) store_some(row.to + at, power, rest);
    sum += power;
  }
  const F total = fold_lanes<SumOf>(sum);
  const F by = logarithm ? LANNER_SIMD::logarithm(total) : 1.0F / total;
  each_vector(row.length, [&](std::int64_t i, std::int64_t count) {
    const F value =
        logarithm ? load_up_to(row.from + i, count) - largest - by : load_up_to(row.to + i, count) * by;
    store_up_to(row.to + i, value, count);
  });
}

/// For this instruction set.
inline constexpr SoftmaxFunctions softmaxes{softmax_columns_of<false>, softmax_columns_of<true>,
                                            softmax_row_of<false>, softmax_row_of<true>};

} // namespace lanner::LANNER_SIMD
