#pragma once
// Helpers to create, merge and drop transposes.

#include "graph/graph.h"
#include "ops/definition/permutation.h"

namespace lanner::passes {

/// A transpose of `value` before `before`.
Value* emit_transpose(Node& before, Value* value, const ops::Permutation& p);
/// Merges a transpose with the transposes before it, and drops it or makes it a reshape where it moves
/// nothing.
bool simplify_transpose(Node& node);

/// Whether each element of the node's only result depends on the operands' elements at the same place, so
/// that their dims may be in any order.
bool works_on_elements(const Node& node);

} // namespace lanner::passes
