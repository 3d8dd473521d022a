#pragma once
// Convolutions and products as their definitions say, many times as fast: what kernels are compared with
// where the definition would take long.

#include <optional>
#include <span>
#include <vector>

#include <lanner/item.h>

#include "graph/graph.h"

namespace lanner {

/// What `conv`, `matmul` and `gemm` of reals up to 32 bits give, by the project's own panels of products
/// (backends/product/panel.h), which are no library's. Nothing for other nodes, for few operations, and
/// where sampled elements, of the first, the last and some other channels (rows), are not what the
/// definition's sum gives in double precision. `inputs` are row-major on the host. Throws what
/// check_deadline() throws.
std::optional<std::vector<Item>> quick_product(const Node& node, std::span<const Item* const> inputs,
                                               int threads);

} // namespace lanner
