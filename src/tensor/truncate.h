#pragma once
// Conversion of real numbers to integers.

#include <cmath>
#include <cstdint>
#include <limits>

namespace lanner {

/// The number truncated toward zero. Out of range, 32 and 64 bits saturate and narrower types keep the low
/// bits; NaN gives 0. ONNX leaves this open.
template<typename T>
T truncated(double value) noexcept {
  if constexpr (sizeof(T) < 4) {
    return static_cast<T>(truncated<std::int64_t>(value));
  } else {
    // 2^63 and 2^64 are exact doubles, unlike the largest integers below them.
    if (std::isnan(value)) return 0;
    if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    if (value >= std::ldexp(1.0, std::numeric_limits<T>::digits)) return std::numeric_limits<T>::max();
    return static_cast<T>(value);
  }
}

} // namespace lanner
