#pragma once
// Checks what a portable graph may contain.

#include "graph/graph.h"

namespace lanner {

/// A portable graph says what is computed, not how: its values have no storage, its nodes no tactic and no
/// stream, none of its operators is made by lowering, and its constants have no recipes, which are in a
/// plan's table of weights. Throws Error{bad_data} that names the value or node.
void check_portable(const Graph& graph);

} // namespace lanner
