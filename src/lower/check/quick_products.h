#pragma once
// Fast reference for convolutions and matrix products: what kernels are compared with where the definition
// would be too slow.

#include <optional>
#include <span>
#include <vector>

#include <lanner/item.h>

#include "graph/graph.h"

namespace lanner {

/// Results of `conv`, `matmul` and `gemm` of reals up to 32 bits, by the project's own panel kernels
/// (backends/product/panel.h), independent of any library. Nothing for other nodes, for few operations, and
/// where sampled elements, of the first, the last and some other channels (rows), are not what the
/// definition's sum gives in double precision. `inputs` are row-major on the host. Throws what
/// check_deadline() throws.
std::optional<std::vector<Item>> quick_product(const Node& node, std::span<const Item* const> inputs,
                                               int threads);

} // namespace lanner
