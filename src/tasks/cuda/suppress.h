#pragma once
// Non-maximum suppression on a GPU.

#include <cstdint>
#include <vector>

#include <lanner/tensor.h>

#include "tasks/read/suppress.h"

namespace lanner::tasks::cuda {

/// More boxes than this are sorted faster by the host.
inline constexpr std::int64_t most_sorted = 1 << 17;

/// suppress_boxes() for boxes f32 [K, 4] or [K, 5], scores f32 [K] and labels i64 [K] or none, row-major on
/// one GPU; K from 1 to most_sorted. Throws Error{bad_data} where an element is not finite.
std::vector<std::int64_t> suppressed_there(const Tensor& boxes, const Tensor& scores, const Tensor& labels,
                                           float iou_threshold, std::int64_t most);

/// suppressed() for boxes on the host, which are copied to the GPU.
std::vector<std::int64_t> suppressed_there(Device device, const Suppression& given);

} // namespace lanner::tasks::cuda
