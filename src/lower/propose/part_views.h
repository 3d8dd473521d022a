#pragma once
// Slices and splits without a copy as an alternative.

#include <vector>

#include "graph/graph.h"
#include "lower/propose/alternatives.h"

namespace lanner {

/// For a slice or split: alternatives in which results are slices of the input's memory: with its kernels'
/// storages, with storages within the input, and on a host also blocked ones, which copying kernels do not
/// support.
std::vector<Alternative> part_views(const Node& node, const std::vector<Alternative>& kernels);

} // namespace lanner
