#pragma once
// Groups nodes with a data-dependent row count so that kernels can run them block by block.

#include "graph/graph.h"

namespace lanner {

/// Replaces connected nodes of the graph's body that work row by row along one count (row_rules.h), where a
/// product or a convolution is among them, by one `row_blocks` node. The graph is for `device`.
void gather_row_sets(Graph& graph, Device device);

} // namespace lanner
