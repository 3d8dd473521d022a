#pragma once
// What a placement means for nodes and their kernels.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/backend.h"
#include "graph/graph.h"
#include "graph/target.h"

namespace lanner {

/// Throws Error{invalid_argument} for devices that make no set with `own`, for nodes placed outside of it,
/// and for more of either than a plan may hold.
void check_placement(Device own, const DevicePlacement& placement);
/// Throws Error{invalid_argument} for a pattern that no node of the graph, subprograms included, answers to.
void check_placed(const Graph& graph, const DevicePlacement& placement);

/// Where these nodes are to run, which run as one; nothing where they are placed apart.
std::optional<Device> placed_on(std::span<const Node* const> nodes, const Target& target);
/// Where a kernel of `backend` runs that stores its values so.
Device device_of(const Backend& backend, const Tactic& tactic, const Target& target);
/// Where a lowered node runs: of what lies on a GPU the one that its kernel is of.
Device device_of(const Node& lowered);
/// The target for the kernel that a lowered node names of `backend`. Throws Error{bad_data} where that runs
/// on no device of the set.
Target target_at(const Node& lowered, const Backend& backend, const Target& target);
/// Whether values of a lowered graph lie on a GPU beside the target's own.
bool uses_further(const Graph& lowered, const Target& target);

/// One line for each placement that some node does not keep.
std::vector<std::string> unkept_placements(const Graph& lowered, const Target& target);
/// Throws Error{unsupported} for such a node where the placement is strict.
void check_strict_placement(const Graph& lowered, const Target& target);

} // namespace lanner
