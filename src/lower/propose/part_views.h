#pragma once
// Slices and splits without a copy, as a way of running them.

#include <vector>

#include "graph/graph.h"
#include "lower/propose/alternatives.h"

namespace lanner {

/// For a slice or split the storages in which its results are slices of its input's memory: those of its
/// kernels, those that lie within their input, and on a host the blocked ones beside them, which kernels that
/// copy do not know.
std::vector<Alternative> part_views(const Node& node, const std::vector<Alternative>& kernels);

} // namespace lanner
