#pragma once
// Runs graphs by their operators' definitions: slow, plain, and what everything else is measured against.

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <lanner/cancel.h>
#include <lanner/item.h>

#include "graph/graph.h"

namespace lanner {

/// Runs the graph's body on inputs in order and returns its outputs in order. Tensors may lie in any host
/// layout. Throws Error{invalid_argument} when inputs do not fit the graph's, or a node's own failure, which
/// names it.
std::vector<Item> run_reference(const Graph& graph, std::span<const Item> inputs, int threads = 1);

/// Gives what the definition of a node's operator gives for these inputs, row-major on the host, by another
/// way; nothing: the definition is run.
using DefinitionInstead =
    std::function<std::optional<std::vector<Item>>(const Node& node, std::span<const Item* const> inputs)>;

/// What one node's run may take and who may stop it.
struct NodeRunOptions {
  int threads = 1;
  const Control* control = nullptr; ///< Looked at before each node of a region and each turn of a loop.
  std::uint64_t steps = UINT64_MAX; ///< Nodes and turns within regions and expansions.
  std::uint64_t bytes = UINT64_MAX; ///< Read and written by these nodes.
  bool hands_on = false; ///< What the definition does not read (ops/movement/movement_rules.h) may lie on a
                         ///< GPU and stays there.
  DefinitionInstead instead =
      {}; ///< Asked for each node with a definition, inner ones too; empty: nobody is.
};

/// As above.
std::vector<Item> run_reference(const Graph& graph, std::span<const Item> inputs,
                                const NodeRunOptions& options);

/// Runs one node. `inputs` has one entry for each of the node's inputs, captures included; null: absent. A
/// result that nothing uses may be left empty. A failure does not name the node. Throws Error{cancelled}, and
/// Error{limit_exceeded} past the options' steps or bytes.
std::vector<Item> run_node(const Node& node, std::span<const Item* const> inputs,
                           const NodeRunOptions& options = {});

/// Whether a tensor is of this type, as far as that says.
bool fits(const Tensor& tensor, const Type& type);

} // namespace lanner
