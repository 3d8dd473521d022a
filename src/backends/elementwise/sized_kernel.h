#pragma once
// Parameter of elementwise kernels that are compiled before the sizes are known. Sources for NVRTC, which
// finds no headers, repeat this struct (elementwise_source.cpp): 64-bit integers only.

#include <cstdint>

namespace lanner::cuda {

inline constexpr int max_sized_axes = 6, max_sized_operands = 8;

/// Results are row-major and dense. Strides count elements, one row per operand in the order of the kernel's
/// parameters; 0 where it is repeated.
struct SizedElements {
  std::int64_t elements = 0, axes = 0; ///< Axes outermost first.
  std::int64_t sizes[max_sized_axes] = {};
  std::int64_t strides[max_sized_operands][max_sized_axes] = {};
};
static_assert(sizeof(SizedElements) == 8 * (2 + max_sized_axes + max_sized_operands * max_sized_axes));

} // namespace lanner::cuda
