#pragma once
// Suppression on a GPU.

#include <cstdint>
#include <vector>

#include <lanner/tensor.h>

#include "tasks/read/suppress.h"

namespace lanner::tasks::cuda {

/// More boxes are sorted faster by the host.
inline constexpr std::int64_t most_sorted = 1 << 17;

/// As suppress_boxes() of boxes f32 [K, 4] or [K, 5], scores f32 [K] and labels i64 [K] or none, row-major on
/// one GPU; most_sorted at most, and at least one. Throws Error{bad_data} where a number is not finite.
std::vector<std::int64_t> suppressed_there(const Tensor& boxes, const Tensor& scores, const Tensor& labels,
                                           float iou_threshold, std::int64_t most);

/// As suppressed() of what lies on the host, which goes up.
std::vector<std::int64_t> suppressed_there(Device device, const Suppression& given);

} // namespace lanner::tasks::cuda
