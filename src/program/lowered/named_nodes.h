#pragma once
// Nodes by the names that users know them by.

#include <string>

#include "graph/graph.h"
#include "graph/op.h"

namespace lanner {

/// Whether a node of the model that this stands for, or a value that it makes, is called so; `*` stands for
/// any characters, `?` for one.
bool answers(const Node& node, const std::string& pattern);
/// Throws Error{invalid_argument} that begins with `option` where no node of the graph, subprograms included,
/// is called so.
void check_answered(const Graph& graph, const std::string& pattern, const std::string& option);
/// The name that its first source has, else its value's.
std::string node_name(const Node& node);

/// Visits nodes and those of their regions, but for what fused nodes are made of.
template<typename Visit>
void each_node(const Region& region, const Visit& visit) {
  for (const auto& node : region.nodes()) {
    visit(*node);
    if (is_group(*node)) continue;
    for (const auto& inner : node->regions()) each_node(*inner, visit);
  }
}

} // namespace lanner
