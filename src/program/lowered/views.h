#pragma once
// Slices and splits without a copy: results are slices of their input's memory.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace lanner {

/// The part of the first input that an output is: its elements from `start` on along one axis.
struct Part {
  std::size_t axis = 0;
  std::int64_t start = 0;
};

/// The part of each output; nothing where some output is not such a part or not planned.
std::optional<std::vector<Part>> parts_of(const Node& node);

/// Byte offsets of the outputs, stored as `storages`, in the first input, stored as `whole`; nothing where
/// part_offset() has none for some output.
std::optional<std::vector<std::int64_t>> part_offsets(const Node& node, const Storage& whole,
                                                      std::span<const Storage> storages);

/// Whether a lowered node is such a view. Its outputs may overlap and share memory with other readers.
bool is_part_view(const Node& node);

} // namespace lanner
