#pragma once
// CUDA C++ source of a 2-D depthwise convolution, specialised for its sizes.

#include <cstdint>
#include <string>
#include <vector>

#include <lanner/dtype.h>

#include "backends/epilogue.h"

namespace lanner::cuda {

/// Convolves each channel of an image with its own filter, channels last. Sizes are height and width.
struct Depthwise {
  Operand src, weights, bias; ///< `bias` may be absent.
  Epilogue epilogue;
  std::int64_t batch = 0, channels = 0;
  std::int64_t image[2] = {}, result[2] = {}, kernel[2] = {}, strides[2] = {}, dilations[2] = {},
               begin[2] = {};
  DType type = DType::f32; ///< Type of all elements in memory but a rounded result's; sums are f32.
  std::optional<ByteRounding> rounding = std::nullopt; ///< Of the result, behind the epilogue.
};

/// The work of one thread: so many adjacent channels of so many adjacent results in each of so many lines.
struct DepthwiseShare {
  std::int64_t channels = 1, columns = 1, lines = 1;
  bool operator==(const DepthwiseShare&) const = default;
};
/// The shares worth timing, from the one with the fewest threads, which has the least overhead.
std::vector<DepthwiseShare> depthwise_shares(const Depthwise& conv);

/// Number of threads with work.
std::int64_t depthwise_threads(const Depthwise& conv, const DepthwiseShare& share);
inline constexpr unsigned depthwise_block = 128; ///< Threads of a block.

/// Source of `depthwise(src, weights, [bias,] [operands of the epilogue...,] result)`: pointers. Weights are
/// ordered height, width, channels; operands of the epilogue are stored like the result, or have one number
/// per channel.
std::string depthwise_source(const Depthwise& conv, const DepthwiseShare& share);

} // namespace lanner::cuda
