#pragma once
// Overlap of two boxes: shared by host and GPU code, with bit-identical results.

#include <cmath>

#include "tasks/read/arithmetic.h"

namespace lanner::tasks {

/// Edges, in order.
struct UprightBox {
  float left, top, right, bottom;
};

LANNER_HOST_DEVICE inline float area_of(const UprightBox& box) {
  return times(greater(0.f, box.right - box.left), greater(0.f, box.bottom - box.top));
}
/// Whether their intersection over union exceeds this value.
LANNER_HOST_DEVICE inline bool covers(const UprightBox& a, float area_a, const UprightBox& b, float area_b,
                                      float threshold) {
  const float width = lesser(a.right, b.right) - greater(a.left, b.left);
  const float height = lesser(a.bottom, b.bottom) - greater(a.top, b.top);
  const float shared = times(width > 0 ? width : 0.f, height > 0 ? height : 0.f);
  return shared > times(threshold, area_b + area_a - shared);
}

struct PlanePoint {
  double x, y;
};
/// A rotated box prepared for comparisons.
struct RotatedBox {
  PlanePoint corners[4]; ///< In order.
  double x, y;           ///< Centre.
  double area, diagonal;
};

LANNER_HOST_DEVICE inline RotatedBox rotated_box(const float* numbers, double cosine, double sine) {
  const double x = numbers[0], y = numbers[1], half_width = fabs(static_cast<double>(numbers[2])) / 2,
               half_height = fabs(static_cast<double>(numbers[3])) / 2;
  RotatedBox box{};
  for (int i = 0; i < 4; ++i) {
    const double across = i == 0 || i == 3 ? -half_width : half_width,
                 down = i < 2 ? -half_height : half_height;
    box.corners[i] = {x + times(across, cosine) - times(down, sine),
                      y + times(across, sine) + times(down, cosine)};
  }
  box.x = x;
  box.y = y;
  box.area = fabs(times(static_cast<double>(numbers[2]), static_cast<double>(numbers[3])));
  box.diagonal = 2 * sqrt(times(half_width, half_width) + times(half_height, half_height));
  return box;
}

/// A convex polygon; two rectangles have at most eight corners in common.
struct Polygon {
  PlanePoint points[16];
  int count = 0;
  LANNER_HOST_DEVICE void add(const PlanePoint& point) {
    if (count < 16) points[count++] = point;
  }
};

LANNER_HOST_DEVICE inline double cross(const PlanePoint& a, const PlanePoint& b, const PlanePoint& c) {
  return times(b.x - a.x, c.y - a.y) - times(b.y - a.y, c.x - a.x);
}

/// Clips a polygon to the inner side of the edge from `a` to `b` (Sutherland and Hodgman).
LANNER_HOST_DEVICE inline Polygon clipped(const Polygon& polygon, const PlanePoint& a, const PlanePoint& b) {
  Polygon result;
  for (int i = 0; i < polygon.count; ++i) {
    const PlanePoint from = polygon.points[i], to = polygon.points[i + 1 < polygon.count ? i + 1 : 0];
    const double here = cross(a, b, from), there = cross(a, b, to);
    if (here >= 0) result.add(from);
    if ((here > 0 && there < 0) || (here < 0 && there > 0)) {
      const double share = here / (here - there);
      result.add({from.x + times(share, to.x - from.x), from.y + times(share, to.y - from.y)});
    }
  }
  return result;
}

/// Intersection over union; 0 where both are empty.
LANNER_HOST_DEVICE inline float overlap_of(const RotatedBox& a, const RotatedBox& b) {
  const double across = a.x - b.x, down = a.y - b.y;
  const double apart = sqrt(times(across, across) + times(down, down));
  if (apart * 2 > a.diagonal + b.diagonal) return 0; // Tests their bounding circles.
  Polygon shared;
  for (int i = 0; i < 4; ++i) shared.add(a.corners[i]);
  for (int i = 0; i < 4 && shared.count > 0; ++i)
    shared = clipped(shared, b.corners[i], b.corners[(i + 1) % 4]);
  double twice = 0;
  for (int i = 1; i + 1 < shared.count; ++i)
    twice += cross(shared.points[0], shared.points[i], shared.points[i + 1]);
  const double common = fabs(twice) / 2, whole = a.area + b.area - common;
  return whole > 0 ? static_cast<float>(common / whole) : 0;
}

} // namespace lanner::tasks
