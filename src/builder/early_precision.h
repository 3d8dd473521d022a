#pragma once
// Checks of the precision policy before sizes are known.

#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/target.h"

namespace lanner {

/// CPU kernels compute in f32 for all sizes: one line for each other type of the policy. Throws
/// Error{unsupported} where the policy is strict, excludes f32, and a node certainly computes. Empty on other
/// devices.
std::vector<std::string> early_precision(const Graph& graph, const Target& target);
/// Whether kernels chosen later may still violate the policy or a pin.
bool decides_late(const Target& target);

} // namespace lanner
