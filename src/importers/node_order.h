#pragma once
// The order in which a file's nodes are built.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "importers/import_graph.h"

namespace lanner {

/// Names become part of every value and node made from them, so a file's long ones are cut.
inline constexpr std::size_t longest_name = 200;

/// What a node is called in messages.
std::string label_of(const ImportNode& node);

/// Nodes in an order in which every input is defined before it is read; source order where that holds
/// already. A name that nodes write and `visible` knows from elsewhere means the value from elsewhere where
/// it is read before it is written. Throws Error{bad_data} for a cycle.
std::vector<const ImportNode*> in_dependence_order(const std::vector<ImportNode>& nodes,
                                                   const std::function<bool(std::string_view)>& visible);

} // namespace lanner
