#pragma once
// Nodes that may not be at the boundary of their segment leave it.

#include <functional>

#include "tf/segment/sorted_graph.h"

namespace lanner::tf {

/// `segment_of` has the segment of each node, by number, or no_index. Removes the nodes that read from
/// outside what may not enter an engine, with all nodes of their segment that lead to them, and those that
/// give to outside what may not leave one, with all that follow them; a constant that is read outside goes
/// with what leads to it. What remains of a segment still makes no cycle. Calls `removed` for each node.
void trim_segments(const SortedGraph& graph, CountedVector<std::uint32_t>& segment_of,
                   const std::function<void(std::uint32_t node, NativeReason reason)>& removed);

} // namespace lanner::tf
