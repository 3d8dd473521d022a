#pragma once
// Work of a node's definition, where its bytes alone do not determine it.

#include "graph/graph.h"

namespace lanner::ops {

/// Whether the definition computes a node of constants in at most some seconds. Most operators take time
/// proportional to the bytes that they read and write, which the caller bounds; products, windows and similar
/// operators can take any time even in a short file.
bool is_little_work(const Node& node);

} // namespace lanner::ops
