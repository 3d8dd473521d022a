#pragma once
// Runs graphs by their operators' definitions: slow, simple, and the reference for everything else.

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <lanner/cancel.h>
#include <lanner/item.h>

#include "graph/graph.h"

namespace lanner {

/// Runs the graph's body on inputs in order and returns its outputs in order. Tensors may have any host
/// layout. Throws Error{invalid_argument} when inputs do not fit the graph's, or a node's own error, with the
/// node's name.
std::vector<Item> run_reference(const Graph& graph, std::span<const Item> inputs, int threads = 1);

/// Alternative to the definition of a node's operator, with the same results, row-major on the host; nothing:
/// the definition is run.
using DefinitionInstead =
    std::function<std::optional<std::vector<Item>>(const Node& node, std::span<const Item* const> inputs)>;

/// Limits, threads and cancellation of one node's run.
struct NodeRunOptions {
  int threads = 1;
  const Control* control = nullptr; ///< Checked before each node of a region and each iteration of a loop.
  std::uint64_t steps = UINT64_MAX; ///< Limit on nodes and iterations within regions and expansions.
  std::uint64_t bytes = UINT64_MAX; ///< Limit on bytes read and written by these nodes.
  bool hands_on = false; ///< Operands the definition does not read (ops/movement/movement_rules.h) may be on
                         ///< a GPU and stay there.
  DefinitionInstead instead = {}; ///< Called for each node with a definition, inner ones too; may be empty.
};

/// The same with options.
std::vector<Item> run_reference(const Graph& graph, std::span<const Item> inputs,
                                const NodeRunOptions& options);

/// Runs one node. `inputs` has one entry for each of the node's inputs, captures included; null: absent. An
/// unused result may be left empty. An error does not name the node. Throws Error{cancelled}, and
/// Error{limit_exceeded} past the options' steps or bytes.
std::vector<Item> run_node(const Node& node, std::span<const Item* const> inputs,
                           const NodeRunOptions& options = {});

/// Whether a tensor matches this type, as far as the type is known.
bool fits(const Tensor& tensor, const Type& type);

} // namespace lanner
