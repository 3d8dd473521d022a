#pragma once
// Finds nodes by their names in the user's model.

#include <string>

#include "graph/graph.h"
#include "graph/op.h"

namespace lanner {

/// Whether the pattern matches a node of the model that this one comes from, or a value that it produces; `*`
/// matches any characters, `?` one.
bool answers(const Node& node, const std::string& pattern);
/// Throws Error{invalid_argument} that begins with `option` where no node of the graph, regions included,
/// matches.
void check_answered(const Graph& graph, const std::string& pattern, const std::string& option);
/// The name of its first source node, else of its value.
std::string node_name(const Node& node);

/// Visits nodes and those of their regions, except the members of fused nodes.
template<typename Visit>
void each_node(const Region& region, const Visit& visit) {
  for (const auto& node : region.nodes()) {
    visit(*node);
    if (is_group(*node)) continue;
    for (const auto& inner : node->regions()) each_node(*inner, visit);
  }
}

} // namespace lanner
