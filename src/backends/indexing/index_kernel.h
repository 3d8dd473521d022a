#pragma once
// Gathering and scattering elements, as in the kernels of indices.cu. Plain C++ too, so that it is tested
// without a GPU.

#include <cstdint>

#include "image/cuda/host_device.h"

namespace lanner::cuda {

inline constexpr int max_index_axes = 8;

/// gather: `outer` x `size` x `inner` elements, of which each index picks `inner` contiguous ones.
struct GatherParameters {
  std::int64_t outer = 0, size = 0, inner = 0, indices = 0;
  bool wide = true; ///< Indices are i64, else i32.
};

/// gather_elements and scatter_elements: one index for each position in `sizes`; it selects a position along
/// the axis of the data, whose strides are `strides`.
struct AxisIndexParameters {
  int rank = 0, axis = 0;
  std::int64_t size = 0; ///< Size of the data along the axis.
  std::int64_t sizes[max_index_axes] = {}, strides[max_index_axes] = {};
  bool wide = true;
};

/// Normalised to be non-negative; -1 where out of range. The definitions reject that, a kernel cannot.
LANNER_HOST_DEVICE inline std::int64_t index_at(const void* indices, std::int64_t i, std::int64_t size,
                                                bool wide) {
  const std::int64_t index =
      wide ? static_cast<const std::int64_t*>(indices)[i] : static_cast<const std::int32_t*>(indices)[i];
  const std::int64_t position = index < 0 ? index + size : index;
  return position >= 0 && position < size ? position : -1;
}

/// Element `i` of the result; 0 where its index is out of range.
template<typename T>
LANNER_HOST_DEVICE void gather_element(const T* data, const void* indices, T* out, std::int64_t i,
                                       const GatherParameters& p) {
  const std::int64_t column = i % p.inner, row = i / p.inner;
  const std::int64_t position = index_at(indices, row % p.indices, p.size, p.wide);
  out[i] = position < 0 ? T{} : data[((row / p.indices) * p.size + position) * p.inner + column];
}

template<typename T>
LANNER_HOST_DEVICE void gather_along_axis(const T* data, const void* indices, T* out, std::int64_t i,
                                          const AxisIndexParameters& p) {
  const std::int64_t position = index_at(indices, i, p.size, p.wide);
  std::int64_t rest = i, from = position * p.strides[p.axis];
  for (int d = p.rank - 1; d >= 0; --d) {
    if (d != p.axis) from += rest % p.sizes[d] * p.strides[d];
    rest /= p.sizes[d];
  }
  out[i] = position < 0 ? T{} : data[from];
}

/// All updates of line `i`, which runs along the axis: in order, so that the last of two updates of one
/// position wins, as in the definition.
template<typename T>
LANNER_HOST_DEVICE void scatter_line(const T* updates, const void* indices, T* out, std::int64_t i,
                                     const AxisIndexParameters& p) {
  std::int64_t rest = i, from = 0, to = 0, step = 1, stride = 1;
  for (int d = p.rank - 1; d >= 0; --d) {
    if (d == p.axis) {
      step = stride;
    } else {
      from += rest % p.sizes[d] * stride;
      to += rest % p.sizes[d] * p.strides[d];
      rest /= p.sizes[d];
    }
    stride *= p.sizes[d];
  }
  for (std::int64_t k = 0; k < p.sizes[p.axis]; ++k, from += step) {
    const std::int64_t position = index_at(indices, from, p.size, p.wide);
    if (position >= 0) out[to + position * p.strides[p.axis]] = updates[from];
  }
}

} // namespace lanner::cuda
