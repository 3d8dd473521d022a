#pragma once
// Places between numbers. Shared by host and device code.

#include <cstdint>

namespace lanner::tasks {

/// The two places of one axis of a map that a pixel lies between.
struct Tap {
  std::int32_t low = 0, high = 0;
  float share = 0;     ///< Of `high`.
  bool inside = false; ///< The network saw the pixel.
};

} // namespace lanner::tasks
