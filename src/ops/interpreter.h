#pragma once
// Runs graphs by their operators' definitions: slow, plain, and what everything else is measured against.

#include <span>
#include <vector>

#include <lanner/item.h>

#include "graph/graph.h"

namespace lanner {

/// Runs the graph's body on inputs in order and returns its outputs in order. Tensors may lie in any host
/// layout. Throws Error{invalid_argument} when inputs do not fit the graph's, or a node's own failure, which
/// names it.
std::vector<Item> run_reference(const Graph& graph, std::span<const Item> inputs, int threads = 1);

/// Runs one node. `inputs` has one entry for each of the node's inputs, captures included; null: absent. A
/// result that nothing uses may be left empty. A failure does not name the node.
std::vector<Item> run_node(const Node& node, std::span<const Item* const> inputs, int threads = 1);

} // namespace lanner
