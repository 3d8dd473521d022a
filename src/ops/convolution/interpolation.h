#pragma once
// Linear interpolation between the elements of a plane of any rank, zero outside it.

#include <cmath>
#include <cstdint>
#include <span>

namespace lanner::ops {

/// The value of row-major `plane` of `sizes` (at most 8 axes) at fractional position `at`; elements outside
/// are 0.
template<typename T>
double interpolate_linear(const T* plane, std::span<const std::int64_t> sizes, std::span<const double> at) {
  const std::size_t rank = sizes.size();
  double sum = 0;
  for (unsigned corner = 0; corner < (1u << rank); ++corner) {
    double weight = 1;
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < rank && weight != 0; ++d) {
      const double below = std::floor(at[d]), share = at[d] - below;
      const bool upper = (corner >> d & 1) != 0;
      const double place = upper ? below + 1 : below;
      const bool inside = place >= 0 && place < static_cast<double>(sizes[d]);
      weight *= !inside ? 0 : upper ? share : 1 - share;
      offset = offset * sizes[d] + (inside ? static_cast<std::int64_t>(place) : 0);
    }
    if (weight != 0) sum += weight * static_cast<double>(plane[offset]);
  }
  return sum;
}

} // namespace lanner::ops
