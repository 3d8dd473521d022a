#pragma once
// Late kernels, for nodes of data-dependent size.

#include <memory>
#include <optional>
#include <span>

#include "graph/backend.h"
#include "graph/graph.h"

namespace lanner {

/// A kernel, and the node with concrete sizes that it was made for.
struct LateKernel {
  std::unique_ptr<Graph> graph;
  std::unique_ptr<Kernel> kernel;
};

/// Whether, by the graph's bounds, operands may be so large that `node` computes on the device where they
/// are.
bool may_compute_late(const Node& node);

/// Whether a late kernel gets a pointer to input `i`, on its device. Values of other inputs are known when it
/// is made.
bool is_late_operand(const Node& node, std::size_t i);

/// By kernels of the target's device that are ready in microseconds (Backend::late_tactics). Undefined
/// tensors are absent inputs; of operands type and shape alone count. Nothing where no such kernel supports
/// the node.
std::optional<LateKernel> make_late_kernel(const Node& node, std::span<const Tensor> inputs,
                                           std::span<const Type> outputs,
                                           std::span<const Backend* const> backends, const Target& target);

/// Compiles ahead the kernels that make_late_kernel() may need for `node`, so that no run compiles.
void compile_late_kernel(const Node& node, std::span<const Backend* const> backends, const Target& target);

} // namespace lanner
