#pragma once
// Normalisation of a run of elements to zero mean and unit variance.

#include <cmath>
#include <cstdint>
#include <span>

namespace lanner::ops {

struct Moments {
  double mean = 0, variance = 0;
};

/// Mean and population variance, in two passes so that a large mean does not reduce accuracy.
template<typename T>
Moments moments_of(std::span<const T> values) {
  Moments found;
  const double count = static_cast<double>(values.size());
  for (const T value : values) found.mean += static_cast<double>(value);
  found.mean /= count;
  for (const T value : values) {
    const double distance = static_cast<double>(value) - found.mean;
    found.variance += distance * distance;
  }
  found.variance /= count;
  return found;
}

} // namespace lanner::ops
