#pragma once
// The loops of cells.h over the vectors of simd.h; see tile_functions.h for how it is compiled.

#include "backends/cpu/vector_math.h"
#include "backends/recurrent/cells.h"

namespace lanner::LANNER_SIMD {

/// Activations that are never the default.
[[gnu::noinline]] inline F rarely_activated(const ops::CellActivation& f, F x) {
  using Kind = ops::CellActivation::Kind;
  const auto alpha = static_cast<float>(f.alpha), beta = static_cast<float>(f.beta);
  switch (f.kind) {
  case Kind::softsign:
    return x / (magnitude(x) + 1.0F);
  case Kind::softplus:
    return softplus(x);
  case Kind::affine:
    return multiply_add(splat(alpha), x, splat(beta));
  case Kind::leaky_relu:
    return x >= 0.0F ? x : x * alpha;
  case Kind::thresholded_relu:
    return x >= alpha ? x : F{};
  case Kind::scaled_tanh:
    return hyperbolic_tangent(x * beta) * alpha;
  case Kind::hard_sigmoid:
    return at_most(at_least(multiply_add(splat(alpha), x, splat(beta)), 0.0F), 1.0F);
  case Kind::elu:
    return x >= 0.0F ? x : exponential_less_one(x) * alpha;
  default:
    return x;
  }
}

inline F activated(const ops::CellActivation& f, F x) {
  using Kind = ops::CellActivation::Kind;
  const auto bound = static_cast<float>(f.bound);
  x = at_most(at_least(x, -bound), bound);
  switch (f.kind) {
  case Kind::sigmoid:
    return logistic(x);
  case Kind::tanh:
    return hyperbolic_tangent(x);
  case Kind::relu:
    return at_least(x, 0.0F);
  default:
    return rarely_activated(f, x);
  }
}

/// Part of one gate, up to a vector.
inline F gate_of(const CellStep& s, std::int64_t gate, std::int64_t i, std::int64_t count) {
  const std::int64_t at = gate * s.size + i;
  return load_up_to(s.x + at, count) + load_up_to(s.r + at, count);
}

inline void store_state(const CellStep& s, std::int64_t i, F state, std::int64_t count) {
  store_up_to(s.hidden + i, state, count);
  store_up_to(s.out + i, state, count);
}

/// Gates in the order input, output, forget, cell.
inline void lstm_cell(const CellStep& s) {
  const ops::CellActivation* f = s.activations;
  each_vector(s.size, [&](std::int64_t i, std::int64_t count) {
    const F before = load_up_to(s.cell + i, count);
    const auto peep = [&](std::int64_t gate, F cell, F sum) {
      return s.peepholes ? multiply_add(load_up_to(s.peepholes + gate * s.size + i, count), cell, sum) : sum;
    };
    const F input = activated(f[0], peep(0, before, gate_of(s, 0, i, count)));
    const F forget =
        s.input_forget ? 1.0F - input : activated(f[0], peep(2, before, gate_of(s, 2, i, count)));
    const F cell = multiply_add(forget, before, input * activated(f[1], gate_of(s, 3, i, count)));
    const F output = activated(f[0], peep(1, cell, gate_of(s, 1, i, count)));
    store_up_to(s.cell + i, cell, count);
    store_state(s, i, output * activated(f[2], cell), count);
  });
}

inline void rnn_cell(const CellStep& s) {
  each_vector(s.size, [&](std::int64_t i, std::int64_t count) {
    store_state(s, i, activated(s.activations[0], gate_of(s, 0, i, count)), count);
  });
}

/// The next state of a gru, given its update gate.
inline void gru_state(const CellStep& s, std::int64_t i, F update, F candidate, std::int64_t count) {
  const F before = load_up_to(s.hidden + i, count), next = activated(s.activations[1], candidate);
  store_state(s, i, multiply_add(update, before, (1.0F - update) * next), count);
}

/// Gates in the order update, reset, hidden.
inline void gru_cell(const CellStep& s) {
  const ops::CellActivation& f = s.activations[0];
  each_vector(s.size, [&](std::int64_t i, std::int64_t count) {
    const F reset = activated(f, gate_of(s, 1, i, count));
    const F x = load_up_to(s.x + 2 * s.size + i, count), r = load_up_to(s.r + 2 * s.size + i, count);
    gru_state(s, i, activated(f, gate_of(s, 0, i, count)), multiply_add(r, reset, x), count);
  });
}

inline void gru_reset(const CellStep& s) {
  const ops::CellActivation& f = s.activations[0];
  each_vector(s.size, [&](std::int64_t i, std::int64_t count) {
    const F reset = activated(f, gate_of(s, 1, i, count));
    store_up_to(s.kept + i, reset * load_up_to(s.hidden + i, count), count);
    store_up_to(s.x + i, activated(f, gate_of(s, 0, i, count)), count);
  });
}

inline void gru_candidate(const CellStep& s) {
  each_vector(s.size, [&](std::int64_t i, std::int64_t count) {
    gru_state(s, i, load_up_to(s.x + i, count), gate_of(s, 2, i, count), count);
  });
}

constexpr CellFunctions cell_functions_with(const PanelFunction& (*panel)()) {
  return {panel, lstm_cell, rnn_cell, gru_cell, gru_reset, gru_candidate};
}

} // namespace lanner::LANNER_SIMD
