#pragma once
// Tensor maps: how the copy engine of a multiprocessor (TMA, compute capability 9.0) finds the elements of a
// box in a GPU's memory. CUDA driver API, "Tensor Map Object Management".

#include <cstdint>

namespace lanner::cuda {

/// CUtensorMap, passed to kernels by value.
struct alignas(64) TensorMap {
  unsigned char bytes[128];
};

/// Boxes of a tensor with 16-bit elements, up to four axes, the contiguous one first. A box's rows of 64
/// elements are stored in the 128-byte swizzle; elements outside of the tensor are zero.
struct TensorBoxes {
  bool bfloat16 = false; ///< Else f16; what lies outside is zero in both.
  int rank = 3;
  std::int64_t dims[4] = {1, 1, 1, 1};
  std::int64_t strides[3] = {}; ///< Elements between neighbours along axes 1 to 3: multiples of 8.
  std::int64_t box[3] = {64, 1, 1};
  /// Of images (channels, width, height, count): a box is so many positions of a window, in the order of
  /// rows, and 64 channels of the pixel that one tap of it reads.
  bool images = false;
  std::int64_t positions = 0;
  /// Width first: the first and, counted from the last pixel, the last position of the window's first tap.
  int lower[2] = {}, upper[2] = {};
  std::int64_t steps[2] = {1, 1}; ///< Pixels between positions.
};

/// Allocates nothing. Throws Error{internal} for boxes that the driver refuses.
TensorMap tensor_map(const TensorBoxes& boxes, const void* memory);

} // namespace lanner::cuda
