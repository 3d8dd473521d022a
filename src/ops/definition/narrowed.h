#pragma once
// Conversion of real numbers to any number type.

#include <cmath>
#include <limits>
#include <type_traits>

namespace lanner::ops {

/// `value` as a T. For an integer type the nearest representable number towards 0; NaN is 0.
template<typename T>
T narrowed(double value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if constexpr (std::is_integral_v<T>) {
    if (std::isnan(value)) return T{0};
    if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    if (value >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(value);
  } else if constexpr (std::is_same_v<T, double>) {
    return value;
  } else {
    return static_cast<T>(static_cast<float>(value));
  }
}

} // namespace lanner::ops
