#pragma once
// Axes that are an input of a node.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "graph/op.h"

namespace lanner::ops {

/// The axes in input `i`, unresolved; nothing where they are data-dependent. Error{invalid_argument} for more
/// than `rank` axes, which cannot be distinct: so a list that is too long for inference to read is rejected
/// too.
std::optional<std::vector<std::int64_t>> known_axes(const InferContext& context, std::size_t i,
                                                    std::size_t rank);

} // namespace lanner::ops
