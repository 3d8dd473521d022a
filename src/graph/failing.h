#pragma once
// Regions that cannot run with the known sizes, and fail when they are entered.

#include <span>
#include <string>

#include "graph/graph.h"

namespace lanner {

/// The operator that ends a run with its attribute `why`.
inline constexpr const char* fail_kind = "fail";

/// Replaces all nodes of a region by one `fail` node; its outputs, of these types without their sizes, are
/// the region's.
void make_failing(Region& region, const std::string& why, std::span<const Type> types);

/// The `fail` node of a region, or null.
const Node* failing_node(const Region& region);

} // namespace lanner
