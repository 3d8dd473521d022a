#pragma once
// Rotated boxes from their corners.

#include <array>
#include <span>

namespace lanner::tasks {

/// The rotated box (TaskResult::rotated) of four corners, given as alternating x and y around it: its centre
/// is the corners' mean, its sides are the means of opposite sides, along the first and the third.
std::array<float, 5> rotated_box(std::span<const double> corners);

} // namespace lanner::tasks
