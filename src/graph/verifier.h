#pragma once
// Checks graph invariants between passes.

#include "graph/graph.h"

namespace lanner {

/// Throws Error{internal} (naming node and rule) unless: every use is listed once on both sides, values are
/// defined before use in their own region, names are unique, operator arity, attributes' names and kinds and
/// region counts match the OpDef, captures match parameters, storage parents are in the same region and
/// contain the child, symbols in types are declared.
void verify(const Graph& graph);

} // namespace lanner
