// Storages of the graph's values that correspond to a proposal's tactic.

#include <algorithm>
#include <utility>

#include "graph/storage/quantization.h"
#include "lower/propose/alternatives.h"

namespace lanner {

/// The storage for the graph's value, whose type may be narrower.
static Storage of_graph(Storage storage, const Value* asked, const Value* own) {
  if (!asked || !own || !asked->type.is_tensor() || !own->type.is_tensor()) return storage;
  const DType dtype = storage.dtype.value_or(asked->type.dtype());
  if (asked->type.dtype() != own->type.dtype())
    storage.dtype = dtype == own->type.dtype() ? std::nullopt : std::optional(dtype);
  return storage;
}

/// Replaces the proposal's own values that a storage names by the graph's.
static Storage named_in_graph(const Proposal& proposal, Storage storage) {
  if (!proposal.own) return storage;
  return with_values(std::move(storage), [&](Value* value) {
    const auto asked = proposal.node->inputs();
    const auto found = std::ranges::find(asked, value);
    return found == asked.end() ? value : proposal.inputs[static_cast<std::size_t>(found - asked.begin())];
  });
}

Storage Proposal::input_storage(const Tactic& tactic, std::size_t i) const {
  return named_in_graph(*this, of_graph(tactic.inputs.at(i), node->input(i), inputs.at(i)));
}

Storage Proposal::output_storage(const Tactic& tactic, std::size_t o) const {
  return named_in_graph(*this, of_graph(tactic.outputs.at(o), node->output(o), outputs.at(o)));
}

} // namespace lanner
