#pragma once
// What the choice of INT8's nodes begins with.

#include <cstdint>
#include <string>
#include <vector>

#include <lanner/engine.h>

#include "graph/graph.h"
#include "graph/target.h"
#include "passes/int8/int8_nodes.h"

namespace lanner {

/// Those that pins leave INT8 for.
std::vector<passes::Int8Candidate> allowed_candidates(const Graph& graph, const Target& target);

/// Why a candidate has no kernel for bytes on this device; empty where it has, or may have.
std::string missing_kernel(const Graph& graph, const passes::Int8Candidate& candidate, const Target& target);

/// Values that candidates read, each once.
std::vector<std::string> values_read(const std::vector<passes::Int8Candidate>& candidates);

/// The calibration with the contents of its files, the user's ranges in its table.
Calibration settled(Calibration calibration, const Graph& graph, const Limits& limits);

/// Raises `largest` to the magnitudes of each channel.
void add_largest(const Tensor& values, std::int64_t axis, std::vector<float>& largest);

} // namespace lanner
