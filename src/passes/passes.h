#pragma once
// The canonical passes: they know no target, and each leaves a graph that means the same. One file each; the
// order is in pipeline.cpp. Every pass covers nested regions, keeps types right and returns whether it
// changed anything.

#include "graph/graph.h"

namespace lanner::passes {

bool drop_dead_nodes(Graph& graph);   ///< Pure nodes and captures that nothing uses.
bool remove_identities(Graph& graph); ///< Nodes that give their input back.
bool fold_constants(Graph& graph);    ///< Nodes whose results are known, where those stay of moderate size.
bool merge_equal_nodes(Graph& graph); ///< Pure nodes that compute the same from the same.

} // namespace lanner::passes
