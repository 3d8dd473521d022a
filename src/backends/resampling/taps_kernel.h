#pragma once
// Parameters of the kernels of taps.cu. Shared by host and device code.

#include <cstdint>

namespace lanner::cuda {

inline constexpr int max_taps_axes = 5, max_resampled = 3;

/// One axis of the result. `table` is the index of its taps; -1: index i is index i of the input.
struct TapsAxis {
  std::int64_t source = 0, target = 0; ///< Strides, in elements.
  std::uint32_t size = 1;
  int table = -1;
};

/// Taps of one axis, in GPU memory: those of index i are at begins[i] to begins[i + 1].
struct TapsTable {
  const std::int32_t* begins = nullptr;
  const std::int32_t* indices = nullptr;
  const float* weights = nullptr;
  std::int64_t stride = 0; ///< Of the input along the axis.
};

/// Each element of the result is a weighted sum over up to three resampled axes, the first one innermost.
/// Axes are in the result's memory order, outermost first.
struct TapsParameters {
  std::uint32_t elements = 0;
  int axes = 0;
  TapsAxis list[max_taps_axes];
  TapsTable tables[max_resampled];
};

} // namespace lanner::cuda
