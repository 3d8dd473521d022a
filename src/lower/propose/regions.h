#pragma once
// Lowers the regions of nodes in place.

#include <vector>

#include "graph/graph.h"
#include "lower/lower.h"

namespace lanner {

/// Lowers the regions of every node of the graph's body that can run them as programs
/// (program/subprograms.h): for the target's device if they contain a product or a convolution and it has
/// kernels for all of these, else for the host; the node's tactic says which. Captured constants are copied
/// into the region. Returns the reports of the nodes within.
std::vector<NodeReport> lower_regions(Graph& graph, const LowerOptions& options);

} // namespace lanner
