#pragma once
// Calibration data from a file.

#include <filesystem>

#include <lanner/calibration.h>
#include <lanner/limits.h>

#include "graph/graph.h"

namespace lanner {

/// The batches of a safetensors file, which has a tensor for each input of the graph: as
/// Calibration::data_file says. An input whose first dim is fixed gets batches of that size, a remainder is
/// left out. Throws Error{invalid_argument} where tensors do not fit the inputs.
CalibrationData batches_of(const std::filesystem::path& file, const Graph& graph, const Limits& limits);

} // namespace lanner
