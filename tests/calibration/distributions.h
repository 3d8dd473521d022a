#pragma once
// Values of known distributions, the same as those of tests/calibration/expected_thresholds.py.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numbers>
#include <span>
#include <vector>

#include "calibration/histogram.h"

namespace lanner::test {

/// Numbers above 0 and below 1.
class Uniform {
public:
  double operator()() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (static_cast<double>(state_ >> 40) + 0.5) / (1 << 24);
  }

private:
  std::uint64_t state_ = 1;
};

/// `count` values, each made from two uniform numbers.
inline std::vector<float> values_of(std::size_t count, const std::function<double(double, double)>& make) {
  Uniform uniform;
  std::vector<float> values(count);
  for (float& value : values) {
    const double first = uniform();
    value = static_cast<float>(make(first, uniform()));
  }
  return values;
}

inline double gaussian(double a, double b) {
  return std::sqrt(-2 * std::log(a)) * std::cos(2 * std::numbers::pi * b);
}
inline double laplace(double a, double b) {
  return (a < 0.5 ? 1 : -1) * -std::log(b);
}

inline ObservedRange range_of(std::span<const float> values) {
  ObservedRange range;
  range.add(values);
  return range;
}

inline TensorHistogram histogram_of(std::span<const float> values) {
  TensorHistogram histogram(range_of(values));
  histogram.add(values);
  return histogram;
}

} // namespace lanner::test
