#include "tasks/read/gaussian.h"

#include <algorithm>
#include <cmath>

namespace lanner::tasks {
namespace {

constexpr double epsilon = 1e-7;
// Lower bound of the distance's shape term, which rounding may make negative: the logarithm of epsilon,
// halved.
constexpr double least_of_shapes = -8.06;

double square(double value) {
  return value * value;
}

} // namespace

Gaussian gaussian(const Turned& box) {
  const double width = square(box[2]) / 12, height = square(box[3]) / 12;
  const double cosine = std::cos(static_cast<double>(box[4])), sine = std::sin(static_cast<double>(box[4]));
  return {box[0], box[1], width * square(cosine) + height * square(sine),
          width * square(sine) + height * square(cosine), (width - height) * cosine * sine};
}

double gaussian_overlap(const Gaussian& a, const Gaussian& b) {
  const double across = a.across + b.across, down = a.down + b.down, mixed = a.mixed + b.mixed;
  const double x = a.x - b.x, y = a.y - b.y;
  const double determinant = across * down - square(mixed);
  const double apart =
      (across * square(y) + down * square(x) - 2 * mixed * x * y) / (determinant + epsilon) / 4;
  const double own = std::max(0.0, a.across * a.down - square(a.mixed)),
               other = std::max(0.0, b.across * b.down - square(b.mixed));
  const double shapes = std::log(determinant / (4 * std::sqrt(own * other) + epsilon) + epsilon) / 2;
  // Bhattacharyya distance, then Hellinger distance.
  const double distance = std::clamp(apart + shapes, epsilon, 100.0);
  return 1 - std::sqrt(1 - std::exp(-distance) + epsilon);
}

SeenGaussians::SeenGaussians(float threshold)
    : threshold_(threshold),
      furthest_(-std::log(1 + epsilon - square(1 - static_cast<double>(threshold))) - least_of_shapes) {}

bool SeenGaussians::covers(const Turned& box) {
  const Gaussian own = gaussian(box);
  const bool covered = std::ranges::any_of(boxes_, [&](const Gaussian& other) {
    // The spread is at most the sum of the variances, so that most boxes need no logarithm.
    const double spread = own.across + own.down + other.across + other.down + epsilon;
    if (square(own.x - other.x) + square(own.y - other.y) > 4 * spread * furthest_) return false;
    return gaussian_overlap(other, own) > threshold_;
  });
  boxes_.push_back(own);
  return covered;
}

} // namespace lanner::tasks
