#pragma once
// Regions of nodes, lowered in place.

#include <vector>

#include "graph/graph.h"
#include "lower/lower.h"

namespace lanner {

/// Lowers the regions of every node of the graph's body that can run them as programs
/// (program/subprograms.h), for the target's device where a product or a convolution is in them and it has
/// kernels for all of these, else for the host, and says so in the node's tactic; constants that a region
/// captures become its own. Returns what was decided for the nodes within.
std::vector<NodeReport> lower_regions(Graph& graph, const LowerOptions& options);

} // namespace lanner
