#pragma once
// Groups nodes that one kernel can run into `fused` nodes.

#include <span>

#include "graph/graph.h"
#include "graph/tactic.h"

namespace lanner {

/// Forms fused nodes in a graph of static types: first an anchor (convolution, matmul, ...) with the
/// elementwise nodes behind it as far as a backend takes them, then what elementwise nodes are left, each
/// with the elementwise producers that only it reads.
void fuse(Graph& graph, std::span<const Backend* const> backends, const Target& target);

/// Puts a fused node's body back in its place.
void unfuse(Node& fused);

} // namespace lanner
