#pragma once
// The accuracy guard of FP16 and BF16: nodes that lose too much there are computed in FP32.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lanner/engine.h>

#include "engine/context/given_shapes.h"
#include "graph/graph.h"
#include "graph/target.h"

namespace lanner {

/// A node and its signal-to-noise ratio against FP32, in dB.
struct HalfVerdict {
  std::string node;
  DType type = DType::bf16; ///< In which the ratio was measured.
  double snr = 0;
};

/// What the guard found.
struct HalfGuard {
  bool on_data = false;           ///< Of the caller; else on seeded inputs.
  std::size_t measured = 0;       ///< Nodes.
  std::vector<HalfVerdict> worst; ///< Nodes below the bound of their type, in the graph's order.
  std::string why_not;            ///< Why nothing was measured; empty where it was.
};

/// The least ratio of a node's output in this type: `least_snr` where that is not INT8's default, else 40 dB
/// for FP16 and 25 for BF16.
double least_snr_of(DType type, const Calibration& calibration);

/// Measures each node of the canonical graph in each of `types`, on the calibration data or, without, on one
/// set of seeded inputs of `shapes`. All on the CPU, whatever the engine's device is; for an engine on a GPU
/// on data alone, as a build without would take several times as long.
HalfGuard measured_halves(const Graph& graph, const std::vector<DType>& types,
                          const std::optional<InputShapes>& shapes, const BuildOptions& options,
                          const Target& target);

/// Measures where the target allows FP16 or BF16 and kernels may compute in it, pins the nodes below the
/// bound to FP32 in `target`, and records both in the graph's metadata (engine/precision_notes.h). A strict
/// policy has no guard, as it leaves nothing to go back to.
void guard_halves(Graph& graph, const std::optional<InputShapes>& shapes, const BuildOptions& options,
                  Target& target);

} // namespace lanner
