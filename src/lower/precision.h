#pragma once
// Whether a precision that was asked for did anything.

#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/target.h"

namespace lanner {

/// One line for each type of `target.precisions` beside f32 that no kernel of the lowered graph computes in.
std::vector<std::string> unused_precisions(const Graph& lowered, const Target& target);

} // namespace lanner
