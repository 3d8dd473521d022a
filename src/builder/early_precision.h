#pragma once
// What of a precision policy is decided before sizes are known.

#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/target.h"

namespace lanner {

/// Kernels of a CPU compute in f32, whatever the sizes: one line for each other type of the policy. Throws
/// Error{unsupported} where the policy is strict, leaves f32 out, and a node surely computes. Nothing on
/// other devices.
std::vector<std::string> early_precision(const Graph& graph, const Target& target);
/// Whether kernels, once they are chosen, may still break the policy or a pin.
bool decides_late(const Target& target);

} // namespace lanner
