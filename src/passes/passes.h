#pragma once
// The canonical passes: they depend on no target, and each preserves the graph's meaning. One file each, all
// listed and described in list.inc. Every pass handles nested regions, keeps types correct and returns
// whether it changed anything.

#include "graph/graph.h"

namespace lanner::passes {

#define LANNER_PASS(name) bool name(Graph& graph);
#include "passes/list.inc"
#undef LANNER_PASS

/// Not a canonical pass: for targets whose kernels are faster on fewer, larger products (target_passes()).
bool merge_products(Graph& graph);
/// The same for targets without kernels for reduce_log_sum and reduce_log_sum_exp.
bool decompose_reductions(Graph& graph);
/// The same for CPUs, whose kernels hold the dequantize_linear of their operands.
bool separate_dequantize(Graph& graph);

/// Not a canonical pass: for builds that may store values in this type, f16 or bf16.
bool bound_masks(Graph& graph, DType narrow);

} // namespace lanner::passes
