#pragma once
// Signature of the work that a node does.

#include <string>

#include "graph/graph.h"

namespace lanner {

/// Equal for nodes that do the same work: operator, attributes, types, storages, regions; no names, no
/// weights.
std::string signature(const Node& node);

} // namespace lanner
