#pragma once
// What nodes of constants give, as far as it is computed ahead of a run: by passes, and by whoever computes
// what a constant's recipe says.

#include <optional>
#include <vector>

#include <lanner/item.h>

#include "graph/graph.h"

namespace lanner::ops {

/// Whether the operator and everything in its regions is pure.
bool is_pure(const Node& node);

/// What a node of constants gives, by its definition, where that is of moderate size and work; nothing where
/// it is not, or the definition fails. A result that nothing uses may be undefined. Throws Error{cancelled,
/// limit_exceeded} past the thread's deadline, Error{out_of_memory}.
std::optional<std::vector<Item>> folded_results(const Node& node);

} // namespace lanner::ops
