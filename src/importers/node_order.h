#pragma once
// The order in which a file's nodes are built (topological order).

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "importers/import_graph.h"

namespace lanner {

/// Names become part of every value and node made from them, so long ones are cut.
inline constexpr std::size_t longest_name = 200;

/// The node's name in messages.
std::string label_of(const ImportNode& node);

/// Nodes in topological order; source order where that is topological already. Where a name is both written
/// by a node and visible from an outer scope, reads before the write mean the outer value. Throws
/// Error{bad_data} for a cycle.
std::vector<const ImportNode*> in_dependence_order(const std::vector<ImportNode>& nodes,
                                                   const std::function<bool(std::string_view)>& visible);

} // namespace lanner
