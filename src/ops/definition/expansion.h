#pragma once
// Replaces a node by its operator's definition in other operators.

#include <vector>

#include "graph/graph.h"

namespace lanner {

/// Inserts the operator's expansion before `node` and returns the replacement of each output (null: none).
/// The node stays.
std::vector<Value*> emit_expansion(Node& node);
/// Replaces the node by its expansion; the new nodes get its sources.
void expand_node(Node& node);

} // namespace lanner
