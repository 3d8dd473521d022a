#pragma once
// Text that tells nodes apart by the work they stand for.

#include <string>

#include "graph/graph.h"

namespace lanner {

/// Equal for nodes that do the same work: operator, attributes, types, storages, body; no names, no weights.
std::string signature(const Node& node);

} // namespace lanner
