#pragma once
// The canonical passes: they know no target, and each leaves a graph that means the same. One file each, all
// in list.inc, which says what they do. Every pass covers nested regions, keeps types right and returns
// whether it changed anything.

#include "graph/graph.h"

namespace lanner::passes {

#define LANNER_PASS(name) bool name(Graph& graph);
#include "passes/list.inc"
#undef LANNER_PASS

/// No canonical pass: for targets whose kernels gain from fewer and larger products (target_passes()).
bool merge_products(Graph& graph);

} // namespace lanner::passes
