#pragma once
// Results of networks, made from plain numbers.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include <lanner/task.h>

namespace lanner {

using Box4 = std::array<float, 4>;
using Box5 = std::array<float, 5>;

/// A result without parts.
TaskResult result_of(TaskKind kind, std::int32_t width, std::int32_t height);
/// Labels 0, 1, 2... unless given, scores 0.9, 0.8...
TaskResult boxes_result(TaskKind kind, std::int32_t width, std::int32_t height,
                        const std::vector<Box4>& boxes, std::vector<std::int64_t> labels = {});
TaskResult classes_result(std::int32_t width, std::int32_t height, const std::vector<std::int64_t>& labels,
                          const std::vector<float>& scores);
TaskResult rotated_result(std::int32_t width, std::int32_t height, const std::vector<Box5>& boxes);
/// Rows of `#` (inside) and others, whose top left is at (x, y).
Mask mask_of(std::int32_t x, std::int32_t y, const std::vector<std::string_view>& rows);
TaskResult masks_result(std::int32_t width, std::int32_t height, std::vector<Mask> masks);

} // namespace lanner
