#pragma once
// Interpolation taps. Shared by host and device code.

#include <cstdint>

namespace lanner::tasks {

/// The two elements along one axis of a map that a pixel is between.
struct Tap {
  std::int32_t low = 0, high = 0;
  float share = 0;     ///< Weight of `high`.
  bool inside = false; ///< Whether the network saw the pixel.
};

} // namespace lanner::tasks
