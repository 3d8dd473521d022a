#pragma once
// Regions that cannot run for the sizes that are known, and say so when they are entered.

#include <span>
#include <string>

#include "graph/graph.h"

namespace lanner {

/// The operator that ends a run with its attribute `why`.
inline constexpr const char* fail_kind = "fail";

/// Puts one `fail` node in the place of all nodes of a region; its outputs, of these types without their
/// sizes, are the region's.
void make_failing(Region& region, const std::string& why, std::span<const Type> types);

/// The `fail` node of a region, or null.
const Node* failing_node(const Region& region);

} // namespace lanner
