#pragma once
// Constant folding: results of nodes with constant inputs, as far as they are computed before a run; for
// passes, and for evaluating the recipe of a constant.

#include <optional>
#include <vector>

#include <lanner/item.h>

#include "graph/graph.h"

namespace lanner::ops {

/// Whether the operator and everything in its regions is pure.
bool is_pure(const Node& node);

/// The results of a node of constants, by its definition, where their size and work are moderate; nothing
/// where they are not, or the definition fails. An unused result may be undefined. Throws Error{cancelled,
/// limit_exceeded} past the thread's deadline, Error{out_of_memory}.
std::optional<std::vector<Item>> folded_results(const Node& node);

} // namespace lanner::ops
