#pragma once
// Suppression of boxes.

#include <cstdint>
#include <span>
#include <vector>

#include "tasks/read/overlap.h"

namespace lanner::tasks {

/// What is compared: boxes of one form, by number.
struct Suppression {
  std::span<const Edges> upright;
  std::span<const Turned> turned; ///< Used where `upright` is empty.
  std::span<const float> scores;
  std::span<const std::int64_t> labels; ///< Empty: all are compared.
  float iou_threshold = 0;
  std::int64_t most = 0; ///< 0: all.
  bool gaussian = false; ///< Turned boxes are compared as SeenGaussians are.
};

/// Numbers by score, best first; of equal ones the first.
std::vector<std::int64_t> by_score(std::span<const float> scores);

/// Numbers of those that stay, best first.
std::vector<std::int64_t> suppressed(const Suppression& given);

} // namespace lanner::tasks
