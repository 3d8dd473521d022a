#pragma once
// Text that tells nodes and storages apart by the work they stand for.

#include <string>

#include "graph/graph.h"

namespace lanner {

/// Type, layout, device, scale and zero of a storage.
std::string storage_text(const Storage& storage);

/// Equal for nodes that do the same work: operator, attributes, types, storages, body; no names, no weights.
std::string signature(const Node& node);

} // namespace lanner
