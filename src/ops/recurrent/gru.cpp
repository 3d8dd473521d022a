#include "ops/recurrent/recurrent.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"

namespace lanner::ops {

// Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder", 2014. Gates in the order update,
// reset, hidden.

template<typename T>
static void gru_step(const DirectionWeights<T>& weights, const T* x_gates, CellState<T>& state,
                     bool linear_before_reset) {
  const std::size_t hidden = state.hidden.size();
  const auto size = static_cast<std::int64_t>(hidden), width = 3 * size;
  const std::vector<CellActivation>& f = *weights.activations;
  const auto bias = [&](std::size_t i) {
    return weights.recurrence_bias.empty() ? T{0} : weights.recurrence_bias[i];
  };
  for (std::size_t i = 0; i < state.gates.size(); ++i) state.gates[i] = bias(i);
  const std::int64_t products = linear_before_reset ? width : 2 * size;
  add_product<T>(state.hidden, weights.recurrence.data(), width, 0, products, state.gates.data());
  CountedVector<double> update(hidden), reset(hidden);
  for (std::size_t j = 0; j < hidden; ++j) {
    update[j] = f[0](static_cast<double>(x_gates[j] + state.gates[j]));
    reset[j] = f[0](static_cast<double>(x_gates[hidden + j] + state.gates[hidden + j]));
  }
  T* candidate = state.gates.data() + 2 * hidden;
  if (!linear_before_reset) {
    CountedVector<T> kept(hidden);
    for (std::size_t j = 0; j < hidden; ++j) kept[j] = static_cast<T>(reset[j]) * state.hidden[j];
    add_product<T>(kept, weights.recurrence.data(), width, 2 * size, size, candidate);
  }
  for (std::size_t j = 0; j < hidden; ++j) {
    const double recurrent = static_cast<double>(candidate[j]) * (linear_before_reset ? reset[j] : 1);
    const double next = f[1](static_cast<double>(x_gates[2 * hidden + j]) + recurrent);
    state.hidden[j] =
        static_cast<T>((1 - update[j]) * next + update[j] * static_cast<double>(state.hidden[j]));
  }
}

static void run_gru(KernelContext& context) {
  const bool linear_before_reset = context.attributes().flag("linear_before_reset");
  visit_compute(context.output(0).dtype(), [&]<typename T>(Tag<T>) {
    run_recurrent<T>(context, "gru",
                     [=](const DirectionWeights<T>& weights, const T* x_gates, CellState<T>& state) {
                       gru_step(weights, x_gates, state, linear_before_reset);
                     });
  });
}

std::vector<OpDef> gru_ops() {
  return {recurrent_op("gru", run_gru, {flag_attribute("linear_before_reset", false)})};
}

} // namespace lanner::ops
