#include <algorithm>

#include "ops/recurrent/recurrent.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"

namespace lanner::ops {

// Hochreiter and Schmidhuber, "Long Short-Term Memory", 1997. Gates in the order input, output, forget, cell.

template<typename T>
static void lstm_step(const DirectionWeights<T>& weights, const T* x_gates, CellState<T>& state,
                      bool coupled) {
  const std::size_t hidden = state.hidden.size();
  const auto width = static_cast<std::int64_t>(state.gates.size());
  std::copy_n(x_gates, state.gates.size(), state.gates.begin());
  for (std::size_t i = 0; i < weights.recurrence_bias.size(); ++i)
    state.gates[i] += weights.recurrence_bias[i];
  add_product<T>(state.hidden, weights.recurrence.data(), width, 0, width, state.gates.data());
  const std::vector<CellActivation>& f = *weights.activations;
  for (std::size_t j = 0; j < hidden; ++j) {
    const auto gate = [&](std::size_t g) { return static_cast<double>(state.gates[g * hidden + j]); };
    const auto peep = [&](std::size_t g, double cell) {
      return weights.peepholes.empty() ? 0 : static_cast<double>(weights.peepholes[g * hidden + j]) * cell;
    };
    const auto before = static_cast<double>(state.cell[j]);
    const double input = f[0](gate(0) + peep(0, before));
    const double forget = coupled ? 1 - input : f[0](gate(2) + peep(2, before));
    const double cell = forget * before + input * f[1](gate(3));
    const double output = f[0](gate(1) + peep(1, cell));
    state.cell[j] = static_cast<T>(cell);
    state.hidden[j] = static_cast<T>(output * f[2](cell));
  }
}

static void run_lstm(KernelContext& context) {
  const bool coupled = context.attributes().flag("input_forget");
  visit_compute(context.output(0).dtype(), [&]<typename T>(Tag<T>) {
    run_recurrent<T>(context, "lstm",
                     [=](const DirectionWeights<T>& weights, const T* x_gates, CellState<T>& state) {
                       lstm_step(weights, x_gates, state, coupled);
                     });
  });
}

std::vector<OpDef> lstm_ops() {
  return {recurrent_op("lstm", run_lstm, {flag_attribute("input_forget", false)})};
}

} // namespace lanner::ops
