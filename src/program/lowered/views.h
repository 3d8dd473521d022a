#pragma once
// Slices and splits that copy nothing: what they give are slices of their input's memory.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace lanner {

/// What an output has of the first input: its elements from `start` on along one axis.
struct Part {
  std::size_t axis = 0;
  std::int64_t start = 0;
};

/// That of each output, where all are such parts and planned; nothing where they are not.
std::optional<std::vector<Part>> parts_of(const Node& node);

/// Bytes from the beginning of the first input, stored as `whole`, to each output, stored as `storages`,
/// where all outputs lie there as part_offset() has it; nothing where they do not.
std::optional<std::vector<std::int64_t>> part_offsets(const Node& node, const Storage& whole,
                                                      std::span<const Storage> storages);

/// Whether a lowered node is such a view. Its outputs may overlap, and lie in memory that others read.
bool is_part_view(const Node& node);

} // namespace lanner
