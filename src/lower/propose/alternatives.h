#pragma once
// What may run each node of a graph that is being lowered: kernels for it alone and for groups that hold it.

#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "lower/options.h"
#include "lower/propose/groups.h"

namespace lanner {

class Charge;
class Estimates;
class QuantizedWeights;

/// One way of running a node and what it costs.
struct Alternative {
  const Backend* backend = nullptr; ///< Null: alias or interpreter.
  Tactic tactic;                    ///< Storages of inputs and outputs are complete.
  Cost cost;
};

/// A node, or a group of nodes that run as one, and the ways of running that. Every node is proposed alone,
/// so that there is always a cover; groups compete with their parts and with each other, and what stores
/// halves as they are with what stores them wider.
struct Proposal {
  /// What kernels are asked for: the graph's own, one whose types are promoted, or `fused` in another graph.
  Node* node = nullptr;
  NodeGroup members; ///< Nodes of the graph, in execution order; `node` itself where it is the graph's own.
  std::vector<Value*> inputs, outputs; ///< The graph's values that those of `node` stand for; null: absent.
  std::vector<bool> overwritable;      ///< Inputs that nothing reads later, however others are grouped.
  std::vector<Alternative> list;       ///< Empty: not a proposal.
  std::vector<std::string> notes;
  /// Of the cover by the largest groups, or a backend's own proposal: timed before what competes with it.
  bool in_first_cover = true;
  bool by_backend = false; ///< As ProposedGroup::by_backend.
  bool asked = false;      ///< Whether backends were asked; else `list` stands in for what they would offer.
  bool timed = false;      ///< As far as there was time.
  bool reused_tactics = false; ///< Another lowered graph ran this so; what competes with it stands back.
  std::vector<Alternative> reserve = {}; ///< What stands beside a choice taken over, should that be wrong.
  std::shared_ptr<Graph> own = nullptr;  ///< That holds `node` where it is not the graph's own.
  bool promoted = false;                 ///< In `node` halves are f32.
  std::shared_ptr<Charge> charge = {};   ///< Of what it takes in memory.
  bool last_resort = false; ///< Runs by definition where nothing else is offered: one proposal for each node.

  bool is_group() const noexcept { return members.size() > 1; }
  /// Storages of the graph's values where a tactic for `node` asks for these.
  Storage input_storage(const Tactic& tactic, std::size_t i) const;
  Storage output_storage(const Tactic& tactic, std::size_t o) const;
};

/// The target as the proposal's kernels may use it. Nodes of other pins are never in one.
Target target_of(const Proposal& proposal, const LowerOptions& options);

/// Adds what `backend` offers beside what the proposal has, as far as it may be taken.
void add_offered(Proposal& proposal, const Backend& backend, TacticList offered, const LowerOptions& options);
/// Each backend that offers something for it, once.
std::vector<const Backend*> offering_backends(const Proposal& proposal);

/// What is offered at once for every node but constants and for the groups that backends may run as one, by
/// estimates; expands operators that no backend takes. Changes the graph by that only. Those of the first
/// cover come first, each part in execution order. Beside that cover convolutions and the like are not asked
/// for yet: their lists are empty.
std::vector<Proposal> offered_alternatives(Graph& graph, const LowerOptions& options);
/// The same, and what reads one of `weights` also with that as it is quantised; those of the first cover are
/// timed as far as the budget goes, with what is found by a search, and without what is wrong.
std::vector<Proposal> collect_alternatives(Graph& graph, const LowerOptions& options,
                                           const QuantizedWeights& weights);
/// Asks backends where that was not done yet; a group that none takes is left with an empty list.
void ask_for(Proposal& proposal, const LowerOptions& options);
/// Gives those that were not asked for a list by what is known of others with the same anchor: storages, and
/// seconds, by `estimates` of these proposals, that are low where a look at the proposal's own kernels may
/// pay.
void set_provisional_costs(std::span<Proposal> proposals, const Estimates& estimates,
                           const LowerOptions& options);
/// Whether a kernel for it may write over input `i` where nodes run in this order, those of a group at the
/// place of its last one.
bool may_overwrite(const Proposal& proposal, std::size_t i, const std::map<const Node*, std::size_t>& order,
                   const CallerMemory& callers);
/// The same of each of its inputs, of which there may be as many as the file says.
std::vector<bool> overwritable_inputs(const Proposal& proposal,
                                      const std::map<const Node*, std::size_t>& order,
                                      const CallerMemory& callers);
/// Times what was not timed yet of one that is about to be taken.
void time_proposal(Proposal& proposal, const LowerOptions& options);

/// What a backend offers for a node that its kernels can reach; `more`: what it finds by a search.
TacticList reachable_tactics(const Backend& backend, const Node& node, const Target& target,
                             bool more = false);
/// Takes alternative `index` out, which must not be taken, and notes why. Where no other is left a node that
/// is alone runs by its definition.
void reject(Proposal& proposal, std::size_t index, const std::string& why, const LowerOptions& options);

} // namespace lanner
