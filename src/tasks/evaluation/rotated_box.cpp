#include "tasks/evaluation/rotated_box.h"

#include <cmath>

namespace lanner::tasks {

std::array<float, 5> rotated_box(std::span<const double> corners) {
  const auto x = [&](std::size_t i) { return corners[i % 4 * 2]; };
  const auto y = [&](std::size_t i) { return corners[i % 4 * 2 + 1]; };
  const auto side = [&](std::size_t i) { return std::hypot(x(i + 1) - x(i), y(i + 1) - y(i)); };
  // The third side runs in the opposite direction.
  const double dx = x(1) - x(0) + x(2) - x(3), dy = y(1) - y(0) + y(2) - y(3);
  return {static_cast<float>((x(0) + x(1) + x(2) + x(3)) / 4),
          static_cast<float>((y(0) + y(1) + y(2) + y(3)) / 4), static_cast<float>((side(0) + side(2)) / 2),
          static_cast<float>((side(1) + side(3)) / 2), static_cast<float>(std::atan2(dy, dx))};
}

} // namespace lanner::tasks
