#include "lower/propose/alternatives.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <lanner/error.h>

#include "backends/storage_layout.h"
#include "base/check.h"
#include "base/limits/account.h"
#include "graph/copy.h"
#include "graph/infer.h"
#include "graph/op.h"
#include "lower/check/trusted_kernels.h"
#include "lower/measure/reused_tactics.h"
#include "lower/measure/tuning.h"
#include "lower/propose/joins.h"
#include "lower/propose/part_views.h"
#include "lower/propose/promotion.h"
#include "lower/propose/quantized_weights.h"
#include "lower/propose/strided.h"
#include "lower/propose/without_kernel.h"
#include "ops/definition/expansion.h"
#include "program/lowered/lowered.h"
#include "program/lowered/precision.h"
#include "program/side_by_side.h"

namespace lanner {

Target target_of(const Proposal& proposal, const LowerOptions& options) {
  return target_for(proposal.members, options.target).value_or(options.target);
}

namespace {

/// Adds what is offered, with estimates as costs.
void add(std::vector<Alternative>& list, const Backend& backend, TacticList offered) {
  for (Tactic& tactic : offered.tactics) {
    const double estimate = tactic.estimate;
    list.push_back({&backend, std::move(tactic), {estimate}});
  }
}

/// A node that is left without an alternative runs by its definition; a group is dropped.
void fall_back(Proposal& proposal, const LowerOptions& options) {
  if (proposal.list.empty()) proposal.list = std::exchange(proposal.reserve, {});
  if (!proposal.list.empty() || !proposal.last_resort) return;
  const Node& node = *proposal.node;
  for (const Backend* backend : options.backends) {
    if (!is_definition(*backend)) continue;
    add(proposal.list, *backend, backend->tactics(node, options.target.for_device(backend->device())));
  }
  if (proposal.list.empty()) proposal.list.push_back(without_kernel(node, interpreter_backend));
}

/// Removes alternatives that overwrite values which others read later.
void remove_overwriting(const Proposal& proposal, std::vector<Alternative>& list) {
  const Node& node = *proposal.node;
  std::erase_if(list, [&](const Alternative& alternative) {
    const Tactic& tactic = alternative.tactic;
    if (!tactic.required_in_place) return false;
    const auto i = static_cast<std::size_t>(tactic.in_place);
    return !proposal.overwritable.at(i) || storage_bytes(*node.input(i), tactic.inputs.at(i)) !=
                                               storage_bytes(*node.output(), tactic.outputs.at(0));
  });
}

void drop_overwriting(Proposal& proposal, const LowerOptions& options) {
  remove_overwriting(proposal, proposal.list);
  fall_back(proposal, options);
}

void check_complete(const Node& node, const std::vector<Alternative>& list) {
  for (const Alternative& alternative : list)
    check(alternative.tactic.inputs.size() == node.inputs().size() &&
              alternative.tactic.outputs.size() == node.outputs().size(),
          ErrorCode::internal, "tactic {} of {} does not give a storage for each value",
          alternative.tactic.kernel, node.label());
}

/// Removes alternatives that compute in types which the precision policy forbids. A single node that would be
/// left with nothing keeps them; the report notes that.
void drop_breaking(Proposal& proposal, std::vector<Alternative>& list, const Target& own) {
  const auto breaks = [&](const Alternative& one) { return !keeps(one.tactic, *proposal.node, own); };
  if (list.empty() || std::ranges::none_of(list, breaks)) return;
  const bool all = std::ranges::all_of(list, breaks);
  if (all)
    proposal.notes.push_back(fmt::format("no kernel computes it in {} alone", own.precision.types_text()));
  if (!all || !proposal.last_resort) std::erase_if(list, breaks);
}

/// Runs `ask` on the threads that a build uses for finding kernels.
template<typename Ask>
void each(std::span<Proposal* const> proposals, const LowerOptions& options, Ask ask) {
  std::vector<const Node*> nodes;
  for (const Proposal* proposal : proposals) nodes.push_back(proposal->node);
  side_by_side(nodes, making_threads(options.target), [&](std::size_t i) {
    options.control.cancel.check();
    ask(*proposals[i]);
  });
}

/// Adds what backends find by a search.
void search(std::span<Proposal* const> proposals, const LowerOptions& options) {
  options.tuner.search([&] {
    each(proposals, options, [&](Proposal& proposal) {
      const Target own = target_of(proposal, options);
      for (const Backend* backend : offering_backends(proposal))
        add_offered(proposal, *backend,
                    backend->more_tactics(*proposal.node, own.for_device(backend->device())), options);
    });
  });
}

std::uint64_t bytes_of(const Tactic& tactic) {
  constexpr std::uint64_t axes = 64; // of the lists of axis sets
  return (tactic.inputs.size() + tactic.outputs.size()) * (sizeof(Storage) + axes) + tactic.config.size() +
         tactic.kernel.size();
}

/// Charges the memory that it takes until the graph is lowered: mostly its lists, and entries in the
/// solver's.
void count(Proposal& proposal) {
  constexpr std::uint64_t overhead = 512;
  std::uint64_t bytes = sizeof(Proposal) + overhead;
  bytes +=
      (2 * (proposal.inputs.size() + proposal.outputs.size()) + proposal.members.size()) * sizeof(Value*);
  for (const Alternative& one : proposal.list) bytes += 2 * sizeof(Alternative) + bytes_of(one.tactic);
  for (const std::string& note : proposal.notes) bytes += sizeof(std::string) + note.size();
  if (!proposal.charge) proposal.charge = std::make_shared<Charge>(current_account());
  proposal.charge->set(bytes);
}

/// Asks all backends for a single node, those of the device where it is placed for a group.
void ask(Proposal& proposal, const LowerOptions& options) {
  const Node& node = *proposal.node;
  const Target own = target_of(proposal, options);
  std::vector<Alternative> list;
  for (const Backend* backend : options.backends) {
    // A definition is slow: it is for nodes that no other kernel runs.
    if (is_definition(*backend) && (!proposal.last_resort || !list.empty())) break;
    if (proposal.is_group() && backend->device() != own.device.kind) continue;
    TacticList offered = reachable_tactics(*backend, node, own);
    if (!offered.reason.empty())
      proposal.notes.push_back(fmt::format("{}: {}", backend->name(), offered.reason));
    add(list, *backend, std::move(offered));
    // Nodes that the GPU can run stay there; host kernels are for the rest.
    if (!list.empty() && backend->device() != DeviceKind::cpu) break;
  }
  add_strided(proposal, list);
  if (!proposal.is_group()) {
    std::ranges::move(joins(node, list), std::back_inserter(list));
    std::ranges::move(part_views(node, list), std::back_inserter(list));
  }
  std::ranges::move(aliases(node, options.target), std::back_inserter(list));
  check_complete(node, list);
  drop_breaking(proposal, list, own);
  proposal.list = std::move(list);
  proposal.asked = true;
  count(proposal);
}

class Collector {
public:
  Collector(Graph& graph, const LowerOptions& options) : graph_(graph), options_(options) {}

  std::vector<Proposal> offered() {
    take_fused_apart();
    promotion_ = Promotion::of(graph_, options_);
    add_groups();
    std::erase_if(found_, [](const Proposal& group) { return group.asked && group.list.empty(); });
    add_nodes();
    drop_useless_strided(found_);
    settle_in_place();
    return std::move(found_);
  }

private:
  /// Unfuses `fused` nodes that came with the model.
  void take_fused_apart() {
    std::vector<Node*> all;
    for (const auto& node : graph_.body().nodes())
      if (is_group(*node)) all.push_back(node.get());
    for (Node* fused : all) {
      const auto results = inline_region(*fused->regions().front(), fused->own_inputs(), fused);
      for (std::size_t i = 0; i < results.size(); ++i) fused->output(i)->replace_all_uses(results[i]);
      fused->region()->erase(fused);
    }
  }

  /// Whether to ask later: a library takes long to find kernels for an anchor, so outside the first cover it
  /// is asked only when that may pay.
  bool later(const Proposal& proposal) const {
    if (proposal.in_first_cover || pattern_of(*proposal.members.front()) == Pattern::elementwise)
      return false;
    const DeviceKind kind = target_of(proposal, options_).device.kind;
    return std::ranges::any_of(options_.backends, [&](const Backend* backend) {
      return backend->device() == kind && !backend->version().empty();
    });
  }

  void add_groups() {
    std::vector<std::size_t> numbers;
    gather_groups(numbers);
    std::vector<Proposal*> now;
    for (const std::size_t number : numbers) now.push_back(&found_[number]);
    each(now, options_, [&](Proposal& proposal) { ask(proposal, options_); });
  }

  /// Nodes without 16-bit reals are the same in both graphs, and in groups of the promoted one. `now`:
  /// proposals for which kernels are asked for now.
  void gather_groups(std::vector<std::size_t>& now) {
    for (ProposedGroup& group : proposed_groups(graph_, options_.backends, options_.target))
      if (!promotion_)
        add(group, group.nodes, now);
      else if (std::ranges::any_of(group.nodes, [&](Node* node) { return promotion_->promoted(*node); }))
        add({group.nodes, false, group.by_backend}, group.nodes, now);
    if (!promotion_) return;
    const std::map<const Node*, std::size_t> order = execution_order(graph_);
    for (ProposedGroup& group : proposed_groups(promotion_->graph(), options_.backends, options_.target)) {
      NodeGroup members;
      for (const Node* node : group.nodes) members.push_back(promotion_->original(*node));
      // Groups that read 16-bit reals as they are exist in the original graph only.
      if (may_run_as_one(members, order)) add(group, std::move(members), now);
    }
  }

  /// `group` is what kernels are asked for, `members` are the graph's own nodes.
  void add(const ProposedGroup& group, NodeGroup members, std::vector<std::size_t>& now) {
    check_deadline();
    Proposal proposal;
    proposal.own = alone(group.nodes);
    proposal.node = proposal.own->body().nodes().back().get();
    proposal.inputs = inputs_of(members);
    proposal.outputs = outputs_of(members);
    if (hides_alias(proposal.outputs)) return;
    proposal.in_first_cover = group.in_first_cover;
    proposal.by_backend = group.by_backend;
    proposal.promoted = group.nodes != members && has_promoted(members);
    proposal.members = std::move(members);
    if (group.by_backend || !later(proposal)) now.push_back(found_.size());
    found_.push_back(std::move(proposal));
  }

  /// Single nodes.
  void add_nodes() {
    std::set<const Node*> grouped;
    for (const Proposal& group : found_)
      if (group.in_first_cover) grouped.insert(group.members.begin(), group.members.end());
    std::vector<Node*> nodes;
    for (const auto& node : graph_.body().nodes())
      if (!is_constant(*node)) nodes.push_back(node.get());
    if (promotion_) {
      for (Node* node : nodes) add(*node, !grouped.contains(node));
      return;
    }
    std::vector<Proposal> alone;
    for (Node* node : nodes) alone.push_back(as_it_is(*node, !grouped.contains(node)));
    std::vector<Proposal*> now;
    for (Proposal& proposal : alone)
      if (!later(proposal)) now.push_back(&proposal);
    each(now, options_, [&](Proposal& proposal) { offer(proposal); });
    for (Proposal& proposal : alone) {
      read_values(proposal); // Expanded nodes before it have new values.
      settle(std::move(proposal));
    }
  }

  static Proposal as_it_is(Node& node, bool in_first_cover) {
    check_deadline();
    Proposal plain = single(node, node);
    plain.last_resort = true;
    plain.in_first_cover = in_first_cover;
    return plain;
  }

  /// A kernel can work in place for its first output only: an output that aliases an input must stay first.
  bool hides_alias(const std::vector<Value*>& outputs) const {
    return std::ranges::any_of(options_.callers.aliases, [&](const CallerMemory::Alias& alias) {
      return std::ranges::find(outputs.begin() + 1, outputs.end(), graph_.body().outputs()[alias.output]) !=
             outputs.end();
    });
  }

  bool has_promoted(const NodeGroup& members) const {
    return std::ranges::any_of(members, [&](Node* node) { return promotion_->promoted(*node) != nullptr; });
  }

  /// A single node: as it is and, where it has 16-bit reals, with these stored as f32. One of the two is the
  /// last resort: the wider one where neither has a kernel.
  void add(Node& node, bool in_first_cover) {
    Node* wide = promotion_ ? promotion_->promoted(node) : nullptr;
    Proposal plain = as_it_is(node, in_first_cover && !wide);
    plain.last_resort = !wide;
    if (wide || !later(plain)) offer(plain);
    if (!wide) return settle(std::move(plain));
    Proposal promoted = single(node, *wide);
    promoted.own = promotion_->shared_graph();
    promoted.promoted = true;
    promoted.in_first_cover = in_first_cover;
    promoted.last_resort = plain.list.empty();
    if (!later(promoted)) offer(promoted);
    plain.last_resort = !promoted.last_resort;
    if (!plain.list.empty()) found_.push_back(std::move(plain));
    if (promoted.last_resort || !promoted.asked || !promoted.list.empty()) settle(std::move(promoted));
  }

  static Proposal single(Node& node, Node& asked) {
    Proposal proposal;
    proposal.node = &asked;
    proposal.members = {&node};
    read_values(proposal);
    for (const auto& output : node.outputs()) proposal.outputs.push_back(output.get());
    return proposal;
  }

  static void read_values(Proposal& proposal) {
    const Node& node = *proposal.members.front();
    proposal.inputs.assign(node.inputs().begin(), node.inputs().end());
  }

  void settle(Proposal proposal) {
    if (proposal.asked && proposal.list.empty()) {
      Node& node = *proposal.members.front();
      if (node.op().expand) return expand(node);
      proposal.list = {without_kernel(*proposal.node, interpreter_backend)};
    }
    count(proposal);
    found_.push_back(std::move(proposal));
  }

  void offer(Proposal& proposal) const {
    const Node& node = *proposal.node;
    proposal.asked = true;
    if (node.tactic.backend == program_backend)
      proposal.list = {by_regions(node)};
    else if (!is_planned(node) || node.captures() > 0)
      proposal.list = by_definition(node, options_.target);
    else if (is_alias(node) && node.op().view)
      proposal.list = aliases(node, options_.target);
    else
      ask(proposal, options_);
  }

  void expand(Node& node) {
    if (promotion_) promotion_->forget(node);
    if (!inference_) inference_ = std::make_unique<AddedInference>(graph_);
    const std::vector<Node*> fresh = inserted_before(node, [&] { expand_node(node); });
    inference_->add(fresh);
    for (Node* inner : fresh)
      if (!is_constant(*inner)) add(*inner, true);
  }

  /// Runs `change`, which replaces `node` by new nodes, and returns these.
  template<typename Change>
  std::vector<Node*> inserted_before(Node& node, Change change) {
    const Region& region = *node.region();
    const Node *before = region.previous(&node), *after = region.next(&node);
    change();
    std::vector<Node*> fresh;
    Node* made = before                   ? region.next(before)
                 : region.nodes().empty() ? nullptr
                                          : region.nodes().front().get();
    for (; made && made != after; made = region.next(made)) fresh.push_back(made);
    return fresh;
  }

  static bool has_region(const Proposal& proposal) {
    return std::ranges::any_of(proposal.members, [](const Node* node) { return !node->regions().empty(); });
  }

  /// Sorts the proposals and removes alternatives that may not work in place.
  void settle_in_place() {
    // A kernel for so many nodes is worth a measurement while there is budget: by estimates it would lose.
    for (Proposal& proposal : found_)
      if (proposal.by_backend && !proposal.list.empty() && !has_region(proposal))
        proposal.in_first_cover = true;
    const std::map<const Node*, std::size_t> order = execution_order(graph_);
    const auto position = [&](const Proposal& one) {
      return std::pair(!one.in_first_cover, order.at(one.members.back()));
    };
    std::ranges::stable_sort(found_, {}, position);
    for (Proposal& proposal : found_) {
      check_deadline();
      proposal.overwritable = overwritable_inputs(proposal, order, options_.callers);
      if (proposal.asked) drop_overwriting(proposal, options_);
    }
    std::erase_if(found_, [](const Proposal& proposal) { return proposal.asked && proposal.list.empty(); });
  }

  Graph& graph_;
  const LowerOptions& options_;
  std::unique_ptr<Promotion> promotion_;
  std::unique_ptr<AddedInference> inference_; ///< Once a node was expanded.
  std::vector<Proposal> found_;
};

} // namespace

void time_proposals(std::span<Proposal* const> proposals, const LowerOptions& options) {
  time_alternatives(proposals, options, [&](std::span<Proposal* const> some) { search(some, options); });
  for (Proposal* proposal : proposals) proposal->timed = true;
}

void add_offered(Proposal& proposal, const Backend& backend, TacticList offered,
                 const LowerOptions& options) {
  std::vector<Alternative> list;
  add(list, backend, std::move(offered));
  check_complete(*proposal.node, list);
  add_strided(proposal, list);
  const Target own = target_of(proposal, options);
  std::erase_if(list, [&](const Alternative& one) { return !keeps(one.tactic, *proposal.node, own); });
  remove_overwriting(proposal, list);
  std::ranges::move(list, std::back_inserter(proposal.list));
}

std::vector<const Backend*> offering_backends(const Proposal& proposal) {
  std::vector<const Backend*> list;
  for (const Alternative& alternative : proposal.list)
    if (alternative.backend && std::ranges::find(list, alternative.backend) == list.end())
      list.push_back(alternative.backend);
  return list;
}

/// Host kernels access host values only, and parts of larger values only where a kernel supports them; a GPU
/// has no kernels for nodes placed on the host.
TacticList reachable_tactics(const Backend& backend, const Node& node, const Target& target, bool more) {
  if (backend.device() != DeviceKind::cpu && target.device.is_host()) return {};
  const Target own = target.for_device(backend.device());
  TacticList offered = more ? backend.more_tactics(node, own) : backend.tactics(node, own);
  const auto on_device = [](const Storage& storage) { return !storage.device.is_host(); };
  std::erase_if(offered.tactics, [](const Tactic& tactic) { return !strided_as_it_says(tactic); });
  if (backend.device() != DeviceKind::cpu) return offered;
  std::erase_if(offered.tactics, [&](const Tactic& tactic) {
    return std::ranges::any_of(tactic.inputs, on_device) || std::ranges::any_of(tactic.outputs, on_device);
  });
  return offered;
}

std::vector<Proposal> offered_alternatives(Graph& graph, const LowerOptions& options) {
  return Collector(graph, options).offered();
}

std::vector<Proposal> collect_alternatives(Graph& graph, const LowerOptions& options,
                                           const QuantizedWeights& weights) {
  std::vector<Proposal> proposals = offered_alternatives(graph, options);
  weights.propose(proposals, graph, options);
  if (options.tactic_source)
    for (Proposal& proposal : proposals) keep_chosen(proposal, options);
  std::vector<Proposal*> first; // They come before the others.
  for (Proposal& proposal : proposals)
    if (proposal.in_first_cover) first.push_back(&proposal);
  time_proposals(first, options);
  return proposals;
}

void ask_for(Proposal& proposal, const LowerOptions& options) {
  if (proposal.asked) return;
  ask(proposal, options);
  drop_overwriting(proposal, options);
}

bool may_overwrite(const Proposal& proposal, std::size_t i, const std::map<const Node*, std::size_t>& order,
                   const CallerMemory& callers) {
  const Value* value = proposal.inputs[i];
  return value && std::ranges::count(proposal.inputs, value) == 1 &&
         may_overwrite(*value, proposal.members, order, callers);
}

std::vector<bool> overwritable_inputs(const Proposal& proposal,
                                      const std::map<const Node*, std::size_t>& order,
                                      const CallerMemory& callers) {
  std::map<const Value*, std::size_t> count;
  for (const Value* value : proposal.inputs) ++count[value];
  std::vector<bool> overwritable;
  for (const Value* value : proposal.inputs)
    overwritable.push_back(value && count.at(value) == 1 &&
                           may_overwrite(*value, proposal.members, order, callers));
  return overwritable;
}

void reject(Proposal& proposal, std::size_t index, const std::string& why, const LowerOptions& options) {
  const Alternative& taken = proposal.list.at(index);
  proposal.notes.push_back(
      fmt::format("{} {} is left out: {}", taken.backend->name(), taken.tactic.kernel, why));
  proposal.list.erase(proposal.list.begin() + static_cast<std::ptrdiff_t>(index));
  fall_back(proposal, options);
}

} // namespace lanner
