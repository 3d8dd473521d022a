#pragma once
// Kinds that are no detectors: what their outputs are.

#include <optional>
#include <vector>

#include "tasks/read/reading.h"
#include "tasks/read/values.h"

namespace lanner::tasks {

/// Adds readings of classify, semantic, depth, image and embed. A kind that was asked for takes all that it
/// can read.
void propose_maps(const Facts& facts, std::vector<Reading>& readings);

/// The one part that the kind has: `scores`, `classes`, `depth`, `image`, `embedding`; empty for detectors
/// and none.
std::string_view map_part(TaskKind kind) noexcept;

/// Classes of an output [N, C], [N, C, 1, 1] or [C]; nothing for others, -1 where they are open.
std::optional<std::int64_t> class_count(const Binding& output);

/// Where channels stand among three dims: first [C, h, w], last [h, w, C]. `declared` wins; else by their
/// number (`channels`, 0: 1 or 3), then by the input's sides; nothing where both may be.
std::optional<bool> channels_last(std::span<const std::int64_t> dims, std::optional<bool> declared,
                                  std::int64_t channels, std::int64_t width, std::int64_t height);

} // namespace lanner::tasks
