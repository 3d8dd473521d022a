#pragma once
// Order statistics.

#include <algorithm>
#include <cmath>
#include <vector>

namespace lanner::tool {

/// Quantile `share` (0..1) of ascending values, interpolated between neighbours; 0 of
/// none.
inline double sorted_quantile(const std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  const double place = share * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(std::floor(place));
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (values[high] - values[low]) * (place - static_cast<double>(low));
}

/// The same for values in any order.
inline double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return sorted_quantile(values, share);
}

} // namespace lanner::tool
