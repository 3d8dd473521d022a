#pragma once
// Groups of nodes that one kernel may run as one.

#include <memory>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "graph/tactic.h"

namespace lanner {

/// Nodes in execution order. Others read the last one's output only.
using NodeGroup = std::vector<Node*>;

struct ProposedGroup {
  NodeGroup nodes;
  /// One of those that a cover by the largest groups takes: anchors first, each with all that follows it,
  /// then elementwise nodes. No two of these share a node.
  bool in_first_cover = false;
};

/// The groups of two nodes and more that backends of the target's device may have kernels for: an anchor (a
/// convolution, a product) with the elementwise nodes that follow it, as many as are taken and fewer;
/// elementwise nodes that end in one, all of them and what each anchor's group leaves of them. Asks
/// Backend::fuses, not for tactics. Deterministic.
std::vector<ProposedGroup> proposed_groups(Graph& graph, std::span<const Backend* const> backends,
                                           const Target& target);

/// The values that a group reads, by first use.
std::vector<Value*> inputs_of(const NodeGroup& group);
/// A graph of one node, `fused`, that stands for the group: its inputs are those of inputs_of(), constants
/// among them.
std::unique_ptr<Graph> alone(const NodeGroup& group);
/// Replaces the group by one such node in the last one's place.
Node* fuse(Graph& graph, const NodeGroup& group);

} // namespace lanner
