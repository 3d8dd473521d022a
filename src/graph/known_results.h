#pragma once
// What nodes give that read nothing but what is known before running.

#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "graph/op.h"

namespace lanner {

/// Runs the definition of a node without regions on row-major tensors of the host, one for each of its
/// inputs; null: absent. Its outputs are of these types where it asks for memory of a size that inference
/// found. Throws what the definition throws; Error{unsupported} for an operator that has none.
std::vector<Tensor> run_definition(const Node& node, std::span<const Tensor* const> inputs,
                                   std::span<const Type> types);

/// Adds what a pure node gives where all that it reads is known and few elements, so that sizes which are
/// computed of such values are numbers. `inputs` has one entry for each of the node's inputs; null: absent.
void add_known_results(const Node& node, std::span<const Known* const> inputs, std::span<const Type> types,
                       std::vector<Known>& results);

} // namespace lanner
