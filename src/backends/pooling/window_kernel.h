#pragma once
// Parameters of the kernels of windows.cu. Shared by host and device code.

#include <cstdint>

namespace lanner::cuda {

/// Pooling over up to three spatial axes; missing ones have size 1. Strides count elements.
struct PoolParameters {
  std::int64_t batch = 1, channels = 1;
  int image[3] = {1, 1, 1}, positions[3] = {1, 1, 1}, kernel[3] = {1, 1, 1};
  int strides[3] = {1, 1, 1}, dilations[3] = {1, 1, 1}, begin[3] = {0, 0, 0}, end[3] = {0, 0, 0};
  std::int64_t source[5] = {}, target[5] = {}; ///< Of batch, channel and the spatial axes.
  bool channels_innermost = false;             ///< In the target: adjacent threads compute adjacent channels.
  bool count_padding = false;
};

} // namespace lanner::cuda
