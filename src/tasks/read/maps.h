#pragma once
// Outputs of kinds other than detectors.

#include <optional>
#include <vector>

#include "tasks/read/reading.h"
#include "tasks/read/values.h"

namespace lanner::tasks {

/// Adds readings of classify, semantic, depth, image and embed. A requested kind accepts all outputs that it
/// can read.
void propose_maps(const Facts& facts, std::vector<Reading>& readings);

/// The kind's only part: `scores`, `classes`, `depth`, `image`, `embedding`; empty for detectors and none.
std::string_view map_part(TaskKind kind) noexcept;

/// Number of classes of an output [N, C], [N, C, 1, 1] or [C]; -1 where it is open; none for other outputs.
std::optional<std::int64_t> class_count(const Binding& output);

/// Position of channels among three dims: first [C, h, w], last [h, w, C]. `declared` wins; else by their
/// number (`channels`, 0: 1 or 3), then by the input's sides; none where ambiguous.
std::optional<bool> channels_last(std::span<const std::int64_t> dims, std::optional<bool> declared,
                                  std::int64_t channels, std::int64_t width, std::int64_t height);

} // namespace lanner::tasks
