#pragma once
// Limits on what cuDNN and cuBLASLt are asked for: their descriptors take 64 bits, but their kernels keep
// sizes, strides along an axis and window extents in 32. So do kernels of the project.

#include <algorithm>
#include <cstdint>
#include <span>

#include <lanner/shape.h>

#include "ops/convolution/window.h"

namespace lanner::cuda {

/// Margin for blocks and tails that kernels add to a size.
inline constexpr std::int64_t largest_library_size = INT32_MAX - (1 << 16);

/// Each size, and the product of an image's sizes (from the third one on).
inline bool within_library_bounds(const Shape& shape) {
  std::int64_t picture = 1;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (shape[d] > largest_library_size) return false;
    if (d < 2 || shape[d] == 0) continue;
    if (picture > largest_library_size / shape[d]) return false;
    picture *= shape[d];
  }
  return true;
}

inline bool within_library_bounds(const ops::Window& window) {
  for (std::size_t d = 0; d < window.kernel.size(); ++d) {
    const std::int64_t extent = (window.kernel[d] - 1) * window.dilations[d] + 1;
    const std::int64_t last = (window.positions[d] - 1) * window.strides[d] + extent; // in the padded image
    if (std::max({extent, last, window.strides[d], window.begin[d]}) > largest_library_size) return false;
  }
  return true;
}

} // namespace lanner::cuda
