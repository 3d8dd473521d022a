#pragma once
// Slices and splits that copy nothing: what they give are stretches of their input's memory.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace lanner {

/// Whether it is an operator that takes parts of its first input as they are, so that it may be a view once
/// lowered.
bool takes_parts(const Node& node);

/// Bytes from the beginning of the first input, stored as `whole`, to each output, stored as `parts`, where
/// all outputs are stretches of it as stretch_offset() has them; nothing where they are not.
std::optional<std::vector<std::int64_t>> part_offsets(const Node& node, const Storage& whole,
                                                      std::span<const Storage> parts);

/// Whether a lowered node is such a view. Its outputs may overlap, and lie in memory that others read.
bool is_part_view(const Node& node);

} // namespace lanner
