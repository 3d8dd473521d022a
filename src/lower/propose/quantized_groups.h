#pragma once
// Groups that compute on integers: a contraction of dequantised operands with its epilogue
// (docs/decisions/052-int8.md).

#include <vector>

#include "graph/graph.h"
#include "graph/target.h"
#include "lower/propose/groups.h"

namespace lanner {

struct QuantizedGroup {
  /// dequantize_linear of the operands, the contraction, steps of its epilogue with dequantize_linear of
  /// their operands, and at most one quantize_linear, which is the last.
  NodeGroup members;
  const Node* contraction = nullptr;
  bool of_values = false; ///< Both operands are values of the run; else the second one is constant.
};

/// For each contraction whose first operand is dequantised for it alone: the group with all steps that
/// follow up to a quantize_linear, and those with fewer. Asks no backend. Deterministic.
std::vector<QuantizedGroup> quantized_groups(Graph& graph, const Target& target);

} // namespace lanner
