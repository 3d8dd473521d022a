#pragma once
// Alternatives for each node of a graph being lowered: kernels for single nodes and for groups.

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

/// One way of running a node, with its cost.
struct Alternative {
  const Backend* backend = nullptr; ///< Null: alias or interpreter.
  Tactic tactic;                    ///< Storages of inputs and outputs are complete.
  Cost cost;
};

/// A node, or a group of nodes that run as one, and its alternatives. There is a proposal for every single
/// node, so that the proposals always cover the graph. Groups compete with their parts and with overlapping
/// groups, and 16-bit storage competes with f32.
struct Proposal {
  /// The node that backends are queried for: a node of the graph, its counterpart with promoted types, or a
  /// `fused` node in another graph.
  Node* node = nullptr;
  NodeGroup members; ///< Nodes of the graph, in execution order; `node` itself where it is the graph's own.
  std::vector<Value*> inputs,
      outputs;                    ///< The graph's values that correspond to those of `node`; null: absent.
  std::vector<bool> overwritable; ///< Inputs that nothing reads later, however other nodes are grouped.
  std::vector<Alternative> list;  ///< Empty: not a proposal.
  std::vector<std::string> notes;
  /// Belongs to the cover with the largest groups, or was proposed by a backend; such proposals are timed
  /// before their competitors.
  bool in_first_cover = true;
  bool by_backend = false;     ///< As ProposedGroup::by_backend.
  bool asked = false;          ///< Whether backends were queried; else `list` is provisional.
  bool timed = false;          ///< Whether it was timed, as far as the budget went.
  bool reused_tactics = false; ///< Another lowered graph uses these tactics; competitors are avoided.
  std::vector<Alternative> reserve = {}; ///< Used where all of `list` turn out wrong.
  std::shared_ptr<Graph> own = nullptr;  ///< The graph of `node` where that is not this graph's own.
  bool promoted = false;                 ///< `node` computes 16-bit reals as f32.
  std::shared_ptr<Charge> charge = {};   ///< For its memory.
  /// Runs by the operator's definition if nothing else is offered; one such proposal for each node.
  bool last_resort = false;

  bool is_group() const noexcept { return members.size() > 1; }
  /// Storages of the graph's values that correspond to what a tactic for `node` asks for.
  Storage input_storage(const Tactic& tactic, std::size_t i) const;
  Storage output_storage(const Tactic& tactic, std::size_t o) const;
};

/// The target for the proposal's kernels. A proposal never holds nodes with different pins.
Target target_of(const Proposal& proposal, const LowerOptions& options);

/// Adds what `backend` offers to the proposal, as far as it may be used.
void add_offered(Proposal& proposal, const Backend& backend, TacticList offered, const LowerOptions& options);
/// Each backend that offers an alternative, once.
std::vector<const Backend*> offering_backends(const Proposal& proposal);

/// Queries backends, without timing, for every node except constants and for the groups that may run as one
/// node. Its only change of the graph: operators that no backend supports are expanded. Proposals of the
/// first cover come first, then the others, both in execution order. Backends are not queried yet for anchors
/// outside of that cover: their lists are empty.
std::vector<Proposal> offered_alternatives(Graph& graph, const LowerOptions& options);
/// The same, with additional proposals for readers of `weights` that read them quantised. Proposals of the
/// first cover, and those that a search adds, are timed within the budget; wrong ones are removed.
std::vector<Proposal> collect_alternatives(Graph& graph, const LowerOptions& options,
                                           const QuantizedWeights& weights);
/// Queries backends if that was not done yet. The list of a group that none supports stays empty.
void ask_for(Proposal& proposal, const LowerOptions& options);
/// Gives proposals for which backends were not queried a provisional list: storages of proposals with the
/// same anchor, and costs by `estimates`, low where querying for the proposal's own kernels may be worth it.
void set_provisional_costs(std::span<Proposal> proposals, const Estimates& estimates,
                           const LowerOptions& options);
/// Whether a kernel for it may overwrite input `i` where nodes run in this order, those of a group in the
/// position of its last one.
bool may_overwrite(const Proposal& proposal, std::size_t i, const std::map<const Node*, std::size_t>& order,
                   const CallerMemory& callers);
/// The same for each of its inputs, whose number the model file decides.
std::vector<bool> overwritable_inputs(const Proposal& proposal,
                                      const std::map<const Node*, std::size_t>& order,
                                      const CallerMemory& callers);
/// Times the alternatives, not timed yet, of proposals that are about to be chosen.
void time_proposals(std::span<Proposal* const> proposals, const LowerOptions& options);

/// The tactics that a backend offers for a node whose values its kernels can access; `more`: those of a
/// search.
TacticList reachable_tactics(const Backend& backend, const Node& node, const Target& target,
                             bool more = false);
/// Removes alternative `index`, which must not be used, and notes why. A single node with no other
/// alternative runs by its definition.
void reject(Proposal& proposal, std::size_t index, const std::string& why, const LowerOptions& options);

} // namespace lanner
