#pragma once
// What a portable graph may hold: the one place that says so.

#include "graph/graph.h"

namespace lanner {

/// A portable graph says what is computed and nothing of how: its values have no storage, its nodes no tactic
/// and no stream, none of its operators is one that lowering makes, and its constants have no recipes, which
/// a plan's table of weights tells. Throws Error{bad_data} that names the value or node.
void check_portable(const Graph& graph);

} // namespace lanner
