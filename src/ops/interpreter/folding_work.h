#pragma once
// How much work a node's definition is, where its bytes alone do not tell.

#include "graph/graph.h"

namespace lanner::ops {

/// Whether a node of constants is computed in some seconds by its definition at most. Most operators take
/// time in proportion to the bytes that they read and write, which whoever folds bounds; products, windows
/// and their like take any time, which a short file can ask for.
bool is_little_work(const Node& node);

} // namespace lanner::ops
