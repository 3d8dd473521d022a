#include <algorithm>

#include "ops/recurrent/recurrent.h"
#include "ops/table/table.h"

namespace lanner::ops {

template<typename T>
static void rnn_step(const DirectionWeights<T>& weights, const T* x_gates, CellState<T>& state) {
  const auto width = static_cast<std::int64_t>(state.gates.size());
  std::copy_n(x_gates, state.gates.size(), state.gates.begin());
  for (std::size_t i = 0; i < weights.recurrence_bias.size(); ++i)
    state.gates[i] += weights.recurrence_bias[i];
  add_product<T>(state.hidden, weights.recurrence.data(), width, 0, width, state.gates.data());
  for (std::size_t j = 0; j < state.hidden.size(); ++j)
    state.hidden[j] = static_cast<T>((*weights.activations)[0](static_cast<double>(state.gates[j])));
}

static void run_rnn(KernelContext& context) {
  visit_compute(context.output(0).dtype(),
                [&]<typename T>(Tag<T>) { run_recurrent<T>(context, "rnn", rnn_step<T>); });
}

std::vector<OpDef> rnn_ops() {
  return {recurrent_op("rnn", run_rnn)};
}

} // namespace lanner::ops
