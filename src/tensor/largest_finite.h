#pragma once

#include <limits>

#include <lanner/dtype.h>

namespace lanner {

/// The largest finite number of a floating-point type of 16 bits or more. The largest float is beyond it for
/// f16 and for bf16, and becomes an infinity there.
inline double largest_finite(DType type) {
  if (type == DType::f16) return 65504;
  if (type == DType::bf16) return 0x1.fep127;
  if (type == DType::f64) return std::numeric_limits<double>::max();
  return static_cast<double>(std::numeric_limits<float>::max());
}

} // namespace lanner
