#pragma once
// CUDA C++ source of a depthwise convolution of images, compiled for its sizes.

#include <cstdint>
#include <string>
#include <vector>

#include <lanner/dtype.h>

#include "backends/epilogue.h"

namespace lanner::cuda {

/// Each channel of an image by a filter of its own, channels last. Sizes are of height and width.
struct Depthwise {
  Operand src, weights, bias; ///< `bias` may be absent.
  Epilogue epilogue;
  std::int64_t batch = 0, channels = 0;
  std::int64_t image[2] = {}, result[2] = {}, kernel[2] = {}, strides[2] = {}, dilations[2] = {},
               begin[2] = {};
  DType type = DType::f32; ///< Of all elements in memory; sums are in f32.
};

/// What one thread computes: so many neighbouring channels of so many neighbours in a line of the result.
struct DepthwiseShare {
  std::int64_t channels = 1, columns = 1;
  bool operator==(const DepthwiseShare&) const = default;
};
/// Those that are worth timing, from the one with the fewest threads, which does the least beside the sums.
std::vector<DepthwiseShare> depthwise_shares(const Depthwise& conv);

/// Threads that have work.
std::int64_t depthwise_threads(const Depthwise& conv, const DepthwiseShare& share);
inline constexpr unsigned depthwise_block = 128; ///< Threads of a block.

/// Of `depthwise(src, weights, [bias,] [operands of the epilogue...,] result)`: pointers. Weights lie as the
/// filter's height, width, channels; operands of the epilogue as the result does, or one for each channel.
std::string depthwise_source(const Depthwise& conv, const DepthwiseShare& share);

} // namespace lanner::cuda
