#pragma once
// Axes that are an input of a node.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "graph/op.h"

namespace lanner::ops {

/// The axes that input `i` names, as they are given; nothing where only running tells.
/// Error{invalid_argument} where there are more than `rank`, which cannot all be different: so a list that
/// inference does not read because it is long is refused too.
std::optional<std::vector<std::int64_t>> known_axes(const InferContext& context, std::size_t i,
                                                    std::size_t rank);

} // namespace lanner::ops
