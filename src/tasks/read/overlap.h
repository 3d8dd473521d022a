#pragma once
// Overlap of two boxes.

#include <array>
#include <cstdint>

#include "tasks/read/overlap_text.h"

namespace lanner::tasks {

/// Edges, in order.
using Edges = std::array<float, 4>;
/// Centre x, y, width, height, angle in radians, clockwise.
using Turned = std::array<float, 5>;

float area(const Edges& box);
/// Intersection over union; 0 where both are empty.
float overlap(const Edges& a, const Edges& b);
float overlap(const Turned& a, const Turned& b);

RotatedBox rotated_box(const Turned& box);
/// The four corners, in order.
std::array<std::array<double, 2>, 4> corners(const Turned& box);
/// The axis-aligned bounding box.
Edges around(const Turned& box);

} // namespace lanner::tasks
