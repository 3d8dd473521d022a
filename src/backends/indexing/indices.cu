// gather, gather_elements, scatter_elements; one thread per result or line of updates.

#include "backends/indexing/index_kernel.h"

using namespace lanner::cuda;

namespace {

template<typename Body>
__device__ void for_each(std::int64_t count, Body body) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) body(i);
}

} // namespace

#define LANNER_INDEX_KERNELS(bytes, T)                                                                       \
  extern "C" __global__ void gather_##bytes(const T* data, const void* indices, T* out, std::int64_t count,  \
                                            GatherParameters p) {                                            \
    for_each(count, [&](std::int64_t i) { gather_element(data, indices, out, i, p); });                      \
  }                                                                                                          \
  extern "C" __global__ void gather_places_##bytes(const T* data, const void* indices, T* out,               \
                                                   std::int64_t count, AxisIndexParameters p) {              \
    for_each(count, [&](std::int64_t i) { gather_along_axis(data, indices, out, i, p); });                   \
  }                                                                                                          \
  extern "C" __global__ void scatter_lines_##bytes(const T* updates, const void* indices, T* out,            \
                                                   std::int64_t count, AxisIndexParameters p) {              \
    for_each(count, [&](std::int64_t i) { scatter_line(updates, indices, out, i, p); });                     \
  }

LANNER_INDEX_KERNELS(2, std::uint16_t)
LANNER_INDEX_KERNELS(4, std::uint32_t)
