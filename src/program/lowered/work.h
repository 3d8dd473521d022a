#pragma once
// Bytes and floating-point operations of a node.

#include <cstdint>

#include "graph/graph.h"

namespace lanner {

/// Bytes of a node's inputs, constants and outputs in their storages; values of dynamic size are not counted.
std::uint64_t bytes_of(const Node& node);
/// Floating-point operations of convolutions and matrix products (a multiply-add is two), subprograms
/// included; one an output element for elementwise nodes; 0 where nothing is known.
std::uint64_t flops_of(const Node& node);

} // namespace lanner
