#pragma once
// What the kernels of boxes.cu get. Shared by host and device code.

#include <cstdint>

namespace lanner::cuda {

inline constexpr int max_box_axes = 8;

/// A box of elements, outermost axis first; strides count elements.
struct BoxParameters {
  int rank = 0;
  std::int64_t elements = 0;
  std::int64_t sizes[max_box_axes] = {}, source[max_box_axes] = {}, target[max_box_axes] = {};
};

} // namespace lanner::cuda
