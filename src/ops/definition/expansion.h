#pragma once
// Replaces a node by its operator's definition in other operators.

#include <vector>

#include "graph/graph.h"

namespace lanner {

/// Puts the operator's expansion before `node` and returns what stands for each output (null: nothing does).
/// The node stays.
std::vector<Value*> emit_expansion(Node& node);
/// Replaces the node by its expansion; the new nodes take over its sources.
void expand_node(Node& node);

} // namespace lanner
