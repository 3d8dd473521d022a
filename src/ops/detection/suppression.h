#pragma once
// What non_max_suppression is told beside boxes and scores.

#include <cstdint>
#include <span>

#include <lanner/tensor.h>

namespace lanner::ops {

struct Thresholds {
  std::int64_t most = 0; ///< Boxes kept of a class, 0 or more.
  float overlap = 0;     ///< A box of more than that with a kept one goes.
  float score = 0;       ///< Boxes of less go: the least number above score_threshold, where one is given.
};

/// Inputs as the operator has them, thresholds on the host; undefined tensors are absent inputs.
Thresholds thresholds_of(std::span<const Tensor> inputs);

} // namespace lanner::ops
