#pragma once
// Kernels for nodes whose sizes only a run tells.

#include <memory>
#include <optional>
#include <span>

#include "graph/backend.h"
#include "graph/graph.h"

namespace lanner {

/// A kernel, and the node with its sizes that it was made of.
struct LateKernel {
  std::unique_ptr<Graph> graph;
  std::unique_ptr<Kernel> kernel;
};

/// Whether a run may find operands of such a size that `node` computes with them where they lie, as far as
/// the graph's bounds say.
bool may_compute_late(const Node& node);

/// Whether a late kernel is given a pointer to input `i`, on its device. Others are known when it is made.
bool is_late_operand(const Node& node, std::size_t i);

/// By kernels of the target's device that are ready in microseconds (Backend::late_tactics). Undefined
/// tensors are absent inputs; of operands type and shape alone count. Nothing where no such kernel takes the
/// node.
std::optional<LateKernel> make_late_kernel(const Node& node, std::span<const Tensor> inputs,
                                           std::span<const Type> outputs,
                                           std::span<const Backend* const> backends, const Target& target);

/// Compiles what a run of `node` could ask of make_late_kernel(), so that no run does.
void compile_late_kernel(const Node& node, std::span<const Backend* const> backends, const Target& target);

} // namespace lanner
