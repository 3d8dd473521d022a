#pragma once
// From a canonical graph in FP32 to one whose convolutions and products are in INT8
// (docs/decisions/052-int8.md).

#include <lanner/engine.h>

#include "graph/graph.h"
#include "graph/target.h"

namespace lanner {

/// The ranges of all values that INT8 would store in the graph, by name: those of `options.calibration`, the
/// rest from its data. Throws Error{invalid_argument} that names a value without a range.
CalibrationTable int8_ranges(const Graph& graph, const BuildOptions& options, const Target& target);

/// Puts quantize_linear and dequantize_linear around the nodes that INT8 is used for, and records table and
/// decisions in the graph's metadata. Does nothing unless `target` allows i8, and for a graph that has such
/// nodes already.
void to_int8(Graph& graph, const BuildOptions& options, const Target& target);

} // namespace lanner
