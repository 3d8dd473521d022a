#pragma once
// Formulas as loops over tiles. Included by exactly the files that are compiled for one instruction set.

#include "backends/elementwise/instruction.h"
#include "backends/elementwise/vector_elements.h"
#include "ops/formulas/all.h"

namespace lanner::LANNER_SIMD {

template<int operands, typename Function>
void run(float* out, const float* x, const float* y, const float* z, std::int64_t count, Function function) {
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    store(out + i, function(load(x + i), operands > 1 ? load(y + i) : F{}, operands > 2 ? load(z + i) : F{}));
  const std::int64_t rest = count - i;
  if (rest == 0) return;
  const F last = function(load_some(x + i, rest), operands > 1 ? load_some(y + i, rest) : F{},
                          operands > 2 ? load_some(z + i, rest) : F{});
  store_some(out + i, last, rest);
}

template<typename V>
V value_of(Elements<V> result) {
  return result.value;
}
template<typename V>
V value_of(typename Elements<V>::Mask truth) {
  return truth.bits ? splat_as(1, V{}) : V{};
}

template<typename Row, typename V>
V value_of(V x, V y, V z, Elements<V> p, Elements<V> q) {
  using E = Elements<V>;
  return value_of<V>(formulas::evaluate<Row>(E(x), E(y), E(z), p, q));
}

template<typename Row>
void tile(float* out, const float* x, const float* y, const float* z, std::int64_t count, Numbers n) {
  if constexpr (Row::one_by_one) {
    const Elements<float> p(n.p), q(n.q);
    for (std::int64_t i = 0; i < count; ++i)
      out[i] = value_of<Row, float>(x[i], Row::operands > 1 ? y[i] : 0, Row::operands > 2 ? z[i] : 0, p, q);
  } else {
    run<Row::operands>(out, x, y, z, count, [p = Elements<F>(n.p), q = Elements<F>(n.q)](F a, F b, F c) {
      return value_of<Row, F>(a, b, c, p, q);
    });
  }
}

/// Static, with a table per file: nothing is shared between instruction sets.
template<typename... Rows>
static TileFunctions tiles_of(const formulas::List<Rows...>& /*rows*/) {
  static constexpr TileFunction functions[] = {tile<Rows>...};
  return {functions};
}

} // namespace lanner::LANNER_SIMD
