#include "lower/measure/reused_tactics.h"

#include <algorithm>
#include <utility>

#include "program/lowered/lowered.h"

namespace lanner {
namespace {

/// Whether the alternative is the tactic that `model`, the same node of another lowered graph, uses.
bool same_choice(const Alternative& alternative, const Node& model, bool exactly) {
  if (!alternative.backend || alternative.backend->name() != model.tactic.backend) return false;
  if (alternative.tactic.kernel != model.tactic.kernel ||
      (exactly && alternative.tactic.config != model.tactic.config))
    return false;
  return alternative.tactic.outputs.at(0).to_string() == model.output()->storage.to_string();
}

bool same_width(const Type& a, const Type& b) {
  return a.is_tensor() && b.is_tensor() ? a.dtype() == b.dtype() : a.is_tensor() == b.is_tensor();
}

/// Asks the backend for the model's tactic at these sizes, without a search.
void ask_named(Proposal& proposal, const Node& model, const LowerOptions& options) {
  Node& node = *proposal.node;
  Storage& storage = node.output()->storage;
  const Target own = target_of(proposal, options);
  const TacticChoice none = std::exchange(node.tactic, model.tactic);
  const Storage unset = std::exchange(storage, model.output()->storage);
  storage.within = {};
  for (const Backend* backend : offering_backends(proposal))
    if (backend->name() == model.tactic.backend)
      add_offered(proposal, *backend, backend->named_tactics(node, own.for_device(backend->device())),
                  options);
  node.tactic = none;
  storage = unset;
}

} // namespace

void keep_chosen(Proposal& proposal, const LowerOptions& options) {
  const Value* value = options.tactic_source->find(proposal.outputs.front()->name());
  const Node* model = value ? value->producer() : nullptr;
  if (!model || model->kind() != proposal.node->kind() || shown_kind(*model) != shown_kind(*proposal.node) ||
      !same_width(model->output()->type, proposal.node->output()->type))
    return;
  ask_for(proposal, options);
  const Target own = target_of(proposal, options);
  std::vector<Alternative>& list = proposal.list;
  const auto is_offered = [&](bool exactly) {
    return std::ranges::any_of(list,
                               [&](const Alternative& one) { return same_choice(one, *model, exactly); });
  };
  if (!is_offered(true)) ask_named(proposal, *model, options);
  if (!is_offered(false))
    for (const Backend* backend : offering_backends(proposal))
      if (backend->name() == model->tactic.backend)
        add_offered(proposal, *backend,
                    backend->more_tactics(*proposal.node, own.for_device(backend->device())), options);
  for (const bool exactly : {true, false}) {
    const auto found =
        std::ranges::find_if(list, [&](const Alternative& one) { return same_choice(one, *model, exactly); });
    if (found == list.end()) continue;
    Alternative kept = std::move(*found);
    list.erase(found);
    proposal.reserve = std::exchange(list, {});
    list.push_back(std::move(kept));
    proposal.reused_tactics = true;
    return;
  }
}

} // namespace lanner
