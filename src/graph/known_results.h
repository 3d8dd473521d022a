#pragma once
// Results of nodes that read only values known before running.

#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "graph/op.h"

namespace lanner {

/// Runs the definition of a node without regions on row-major host tensors, one for each of its inputs; null:
/// absent. Outputs have these types where the definition allocates by inferred size. Throws what the
/// definition throws; Error{unsupported} for an operator without a definition.
std::vector<Tensor> run_definition(const Node& node, std::span<const Tensor* const> inputs,
                                   std::span<const Type> types);

/// Adds the results of a pure node where all its inputs are known and have few elements, so that sizes
/// computed from such values become constants. `inputs` has one entry for each of the node's inputs; null:
/// absent.
void add_known_results(const Node& node, std::span<const Known* const> inputs, std::span<const Type> types,
                       std::vector<Known>& results);

} // namespace lanner
