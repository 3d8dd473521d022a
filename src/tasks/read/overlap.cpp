#include "tasks/read/overlap.h"

#include <algorithm>
#include <cmath>

namespace lanner::tasks {

RotatedBox rotated_box(const Turned& box) {
  return rotated_box(box.data(), std::cos(static_cast<double>(box[4])),
                     std::sin(static_cast<double>(box[4])));
}

float area(const Edges& box) {
  return area_of({box[0], box[1], box[2], box[3]});
}

float overlap(const Edges& a, const Edges& b) {
  const float shared =
      area({std::max(a[0], b[0]), std::max(a[1], b[1]), std::min(a[2], b[2]), std::min(a[3], b[3])});
  const float whole = area(a) + area(b) - shared;
  return whole > 0 ? shared / whole : 0;
}

std::array<std::array<double, 2>, 4> corners(const Turned& box) {
  const RotatedBox around = rotated_box(box);
  std::array<std::array<double, 2>, 4> points;
  for (std::size_t i = 0; i < 4; ++i) points[i] = {around.corners[i].x, around.corners[i].y};
  return points;
}

Edges around(const Turned& box) {
  const auto points = corners(box);
  const auto [left, right] = std::minmax({points[0][0], points[1][0], points[2][0], points[3][0]});
  const auto [top, bottom] = std::minmax({points[0][1], points[1][1], points[2][1], points[3][1]});
  return {static_cast<float>(left), static_cast<float>(top), static_cast<float>(right),
          static_cast<float>(bottom)};
}

float overlap(const Turned& a, const Turned& b) {
  return overlap_of(rotated_box(a), rotated_box(b));
}

} // namespace lanner::tasks
