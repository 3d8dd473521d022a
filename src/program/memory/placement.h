#pragma once
// Applies a device placement to nodes and their kernels.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/backend.h"
#include "graph/graph.h"
#include "graph/target.h"

namespace lanner {

/// Throws Error{invalid_argument} for devices that cannot be combined with `own`, for nodes placed on other
/// devices, and for more of either than a plan may hold.
void check_placement(Device own, const DevicePlacement& placement);
/// Throws Error{invalid_argument} for a pattern that matches no node of the graph, regions included.
void check_placed(const Graph& graph, const DevicePlacement& placement);

/// The device of nodes that run as one; nothing where their placements differ.
std::optional<Device> placed_on(std::span<const Node* const> nodes, const Target& target);
/// The device that a kernel of `backend` with these storages runs on.
Device device_of(const Backend& backend, const Tactic& tactic, const Target& target);
/// The device that a lowered node runs on.
Device device_of(const Node& lowered);
/// The target for the kernel that a lowered node names of `backend`. Throws Error{bad_data} where that runs
/// on no device of the set.
Target target_at(const Node& lowered, const Backend& backend, const Target& target);
/// Whether values of a lowered graph are on a GPU other than the target's own.
bool uses_further(const Graph& lowered, const Target& target);

/// One line for each placement that some node does not follow.
std::vector<std::string> unkept_placements(const Graph& lowered, const Target& target);
/// Throws Error{unsupported} for such a node where the placement is strict.
void check_strict_placement(const Graph& lowered, const Target& target);

} // namespace lanner
