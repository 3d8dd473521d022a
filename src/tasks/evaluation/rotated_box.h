#pragma once
// Boxes that are given by their corners.

#include <array>
#include <span>

namespace lanner::tasks {

/// The turned box (TaskResult::rotated) of four corners, x and y in turns around it: its centre is theirs,
/// its sides are the means of opposite ones, along the first side and the third.
std::array<float, 5> rotated_box(std::span<const double> corners);

} // namespace lanner::tasks
