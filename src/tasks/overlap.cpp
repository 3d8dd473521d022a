#include "tasks/overlap.h"

#include <algorithm>
#include <cmath>

namespace lanner::tasks {
namespace {

using Point = std::array<double, 2>;

/// A convex polygon; two rectangles have at most eight corners in common.
struct Polygon {
  std::array<Point, 16> points;
  std::size_t count = 0;
  void add(const Point& point) {
    if (count < points.size()) points[count++] = point;
  }
};

double cross(const Point& a, const Point& b, const Point& c) {
  return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

/// What lies on the inner side of the edge from `a` to `b` (Sutherland and Hodgman).
Polygon clipped(const Polygon& polygon, const Point& a, const Point& b) {
  Polygon result;
  for (std::size_t i = 0; i < polygon.count; ++i) {
    const Point &from = polygon.points[i], &to = polygon.points[(i + 1) % polygon.count];
    const double here = cross(a, b, from), there = cross(a, b, to);
    if (here >= 0) result.add(from);
    if ((here > 0 && there < 0) || (here < 0 && there > 0)) {
      const double share = here / (here - there);
      result.add({from[0] + share * (to[0] - from[0]), from[1] + share * (to[1] - from[1])});
    }
  }
  return result;
}

double polygon_area(const Polygon& polygon) {
  double twice = 0;
  for (std::size_t i = 1; i + 1 < polygon.count; ++i)
    twice += cross(polygon.points[0], polygon.points[i], polygon.points[i + 1]);
  return std::abs(twice) / 2;
}

} // namespace

float area(const Edges& box) {
  return std::max(0.f, box[2] - box[0]) * std::max(0.f, box[3] - box[1]);
}

float overlap(const Edges& a, const Edges& b) {
  const float shared =
      area({std::max(a[0], b[0]), std::max(a[1], b[1]), std::min(a[2], b[2]), std::min(a[3], b[3])});
  const float whole = area(a) + area(b) - shared;
  return whole > 0 ? shared / whole : 0;
}

std::array<Point, 4> corners(const Turned& box) {
  const double cosine = std::cos(static_cast<double>(box[4])), sine = std::sin(static_cast<double>(box[4]));
  const double half_width = std::abs(box[2]) / 2., half_height = std::abs(box[3]) / 2.;
  const auto at = [&](double x, double y) {
    return Point{box[0] + x * cosine - y * sine, box[1] + x * sine + y * cosine};
  };
  return {at(-half_width, -half_height), at(half_width, -half_height), at(half_width, half_height),
          at(-half_width, half_height)};
}

Edges around(const Turned& box) {
  const auto points = corners(box);
  const auto [left, right] = std::minmax({points[0][0], points[1][0], points[2][0], points[3][0]});
  const auto [top, bottom] = std::minmax({points[0][1], points[1][1], points[2][1], points[3][1]});
  return {static_cast<float>(left), static_cast<float>(top), static_cast<float>(right),
          static_cast<float>(bottom)};
}

float overlap(const Turned& a, const Turned& b) {
  const double area_a = std::abs(static_cast<double>(a[2]) * a[3]),
               area_b = std::abs(static_cast<double>(b[2]) * b[3]);
  const double apart = std::hypot(static_cast<double>(a[0]) - b[0], static_cast<double>(a[1]) - b[1]);
  if (apart * 2 > std::hypot(a[2], a[3]) + std::hypot(b[2], b[3])) return 0; // Of the circles around them.
  Polygon shared;
  for (const Point& point : corners(a)) shared.add(point);
  const auto edges = corners(b);
  for (std::size_t i = 0; i < 4 && shared.count > 0; ++i)
    shared = clipped(shared, edges[i], edges[(i + 1) % 4]);
  const double common = shared.count > 2 ? polygon_area(shared) : 0, whole = area_a + area_b - common;
  return whole > 0 ? static_cast<float>(common / whole) : 0;
}

} // namespace lanner::tasks
