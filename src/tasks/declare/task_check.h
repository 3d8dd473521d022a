#pragma once
// Valid values of a task's fields.

#include <lanner/task.h>

namespace lanner::tasks {

inline constexpr std::int64_t most_classes = 1 << 20;
inline constexpr int most_detections = 1 << 20;
inline constexpr int most_keypoints = 1 << 14;

/// Throws Error{code} for a value that is invalid in any task: `task: iou_threshold is 7, expected
/// 0 to 1`.
void check_task(const Task& task, ErrorCode code);

} // namespace lanner::tasks
