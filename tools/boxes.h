#pragma once
// Boxes as edges: x0, y0, x1, y1 in pixels; pixel i covers [i, i + 1).

#include <array>

namespace lanner::tool {

using Box = std::array<double, 4>;

/// Intersection over union; 0 for boxes without area.
double box_iou(const Box& a, const Box& b);

} // namespace lanner::tool
