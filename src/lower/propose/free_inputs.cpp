#include "lower/propose/free_inputs.h"

#include <algorithm>

#include "program/lowered/lowered.h"

namespace lanner {

bool is_free_input(const Value& value, const CallerMemory& callers) {
  return !value.producer() && is_planned(value) && callers.input(value.index()).any;
}

Storage held_for(const Value& input, const Storage& storage, const LowerOptions& options) {
  return settled_storage(options.callers.input(input.index()), storage, input.type, options.target.device);
}

void settle_free_inputs(Graph& graph, std::span<const Proposal> proposals, std::span<const Taken> cover,
                        const LowerOptions& options, ConversionCosts& conversion_costs) {
  for (const auto& input : graph.body().parameters()) {
    if (!is_free_input(*input, options.callers)) continue;
    std::vector<Storage> asked;
    for (const Taken& taken : cover) {
      const Proposal& proposal = proposals[taken.proposal];
      for (std::size_t i = 0; i < proposal.inputs.size(); ++i)
        if (proposal.inputs[i] == input.get())
          asked.push_back(proposal.input_storage(proposal.list[taken.alternative].tactic, i));
    }
    const auto cost = [&](const Storage& held) {
      double seconds = 0;
      for (const Storage& storage : asked) seconds += conversion_costs(input->type, held, storage);
      return seconds;
    };
    double best = asked.empty() ? 0 : cost(input->storage);
    for (const Storage& storage : asked) {
      const Storage held = held_for(*input, storage, options);
      const double seconds = cost(held);
      if (seconds >= best) continue;
      best = seconds;
      input->storage = held;
    }
  }
}

} // namespace lanner
