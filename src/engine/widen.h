#pragma once
// Sixteen-bit reals on devices that compute in thirty-two.

#include "graph/graph.h"
#include "graph/target.h"

namespace lanner {

/// On a CPU whose precisions leave f16 (bf16) out, nodes that compute in it compute in f32: their inputs are
/// widened, and results are rounded only where the model's interface, an explicit cast or a node that must
/// keep the type reads them. Graph of static types.
void widen_halves(Graph& graph, const Target& target);

} // namespace lanner
