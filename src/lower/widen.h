#pragma once
// Sixteen-bit reals on devices that compute in thirty-two.

#include "graph/graph.h"
#include "graph/target.h"

namespace lanner {

/// On a CPU, where no kernel computes in f16 or bf16, nodes of these types compute in f32, whatever precision
/// was asked for: their inputs are widened, and results are rounded only where the model's interface, an
/// explicit cast or a node that must keep the type reads them. Graph of static types.
void widen_halves(Graph& graph, const Target& target);

} // namespace lanner
