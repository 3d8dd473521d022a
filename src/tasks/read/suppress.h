#pragma once
// Non-maximum suppression.

#include <cstdint>
#include <span>
#include <vector>

#include "tasks/read/overlap.h"

namespace lanner::tasks {

/// Boxes of one format, compared by index.
struct Suppression {
  std::span<const Edges> upright;
  std::span<const Turned> turned; ///< Used where `upright` is empty.
  std::span<const float> scores;
  std::span<const std::int64_t> labels; ///< Empty: classes are ignored.
  float iou_threshold = 0;
  std::int64_t most = 0; ///< 0: no limit.
  bool gaussian = false; ///< Compares rotated boxes like SeenGaussians.
};

/// Indices by score, best first; equal ones in order.
std::vector<std::int64_t> by_score(std::span<const float> scores);

/// Indices of the remaining boxes, best first.
std::vector<std::int64_t> suppressed(const Suppression& given);

} // namespace lanner::tasks
