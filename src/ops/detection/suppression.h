#pragma once
// Parameters of non_max_suppression other than boxes and scores.

#include <cstdint>
#include <span>

#include <lanner/tensor.h>

namespace lanner::ops {

struct Thresholds {
  std::int64_t most = 0; ///< The most boxes to select per class, 0 or more.
  float overlap = 0;     ///< A box that overlaps a selected one by more is dropped.
  float score = 0;       ///< Boxes below it are dropped: the smallest number above score_threshold, if given.
};

/// The operator's inputs, with thresholds on the host; undefined tensors are absent inputs.
Thresholds thresholds_of(std::span<const Tensor> inputs);

} // namespace lanner::ops
