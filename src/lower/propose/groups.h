#pragma once
// Groups of nodes that one kernel may run as one.

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "graph/backend.h"
#include "graph/graph.h"

namespace lanner {

/// Nodes in execution order. They run in the position of the last one and others read their values after it,
/// so groups never depend on each other in a cycle.
using NodeGroup = std::vector<Node*>;

struct ProposedGroup {
  NodeGroup nodes;
  /// Part of the cover by the largest groups: anchors first, each with all that follows it, then elementwise
  /// nodes. No two of these share a node.
  bool in_first_cover = false;
  bool by_backend = false; ///< Proposed by a backend that has a kernel for it.
};

/// The groups of two nodes and more that backends of the device where they are placed may have kernels for:
/// an anchor (a
/// convolution, a product) with the elementwise nodes that follow it, as many as are taken and fewer;
/// elementwise nodes that end in one, all of them, what each anchor's group leaves of them, and those with
/// values that others read later as well; and what Backend::propose says. Asks for no tactics. Deterministic.
std::vector<ProposedGroup> proposed_groups(Graph& graph, std::span<const Backend* const> backends,
                                           const Target& target);

/// Whether all other readers of a group's values come after its last node in `order`.
bool may_run_as_one(const NodeGroup& group, const std::map<const Node*, std::size_t>& order);
/// The values that a group reads, by first use.
std::vector<Value*> inputs_of(const NodeGroup& group);
/// The last node's first output, then the other values of a group that others read, in order.
std::vector<Value*> outputs_of(const NodeGroup& group);
/// A graph of one node, `fused`, that represents the group: its inputs are those of inputs_of(), constants
/// among them, its outputs those of outputs_of().
std::unique_ptr<Graph> alone(const NodeGroup& group);
/// Replaces the group by a copy of `node`, which represents it and reads `inputs` (null: absent), in the last
/// one's position. Outputs keep their names.
Node* replace(const NodeGroup& group, const Node& node, std::span<Value* const> inputs);

} // namespace lanner
