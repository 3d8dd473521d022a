// Computes masks, class and depth maps, and images from the maps that networks give.

#include "backends/cuda/elements.cuh"
#include "tasks/cuda/map_kernel.h"

using namespace lanner::tasks::cuda;

namespace {

template<typename T>
struct Loader {
  const T* values;
  __device__ float operator()(std::int64_t i) const { return lanner::cuda::load(values + i); }
};
template<typename T>
__device__ Loader<T> loader(const void* values) {
  return {static_cast<const T*>(values)};
}

/// Calls body(i) for i below `count`, distributed over all threads of the grid.
template<typename Body>
__device__ void for_each(std::int64_t count, const Body& body) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) body(i);
}

/// The same for each object, whose elements several blocks share.
template<typename Body>
__device__ void for_each_of(const MaskObject& object, int objects, std::int64_t count, const Body& body) {
  const std::int64_t step = std::int64_t{gridDim.x / objects} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x / objects} * blockDim.x + threadIdx.x; i < count; i += step)
    body(object, i);
}

} // namespace

#define LANNER_MAP_KERNELS(name, T)                                                                          \
  extern "C" __global__ void task_find_best_##name(MapParameters p) {                                        \
    for_each(std::int64_t{p.map_width} * p.map_height,                                                       \
             [&](std::int64_t i) { find_best(p, i, loader<T>(p.values)); });                                 \
  }                                                                                                          \
  extern "C" __global__ void task_find_class_##name(MapParameters p) {                                       \
    for_each(std::int64_t{p.width} * p.height,                                                               \
             [&](std::int64_t i) { find_class(p, i, loader<T>(p.values)); });                                \
  }                                                                                                          \
  extern "C" __global__ void task_find_number_##name(MapParameters p) {                                      \
    for_each(std::int64_t{p.width} * p.height,                                                               \
             [&](std::int64_t i) { find_number(p, i, loader<T>(p.values)); });                               \
  }                                                                                                          \
  extern "C" __global__ void task_find_byte_##name(PictureParameters p) {                                    \
    for_each(std::int64_t{p.width} * p.height * 3,                                                           \
             [&](std::int64_t i) { find_byte(p, i, loader<T>(p.values)); });                                 \
  }                                                                                                          \
  extern "C" __global__ void task_check_##name(const void* values, std::int64_t size, std::int32_t* bad) {   \
    for_each(size, [&](std::int64_t i) {                                                                     \
      if (!finite_number(loader<T>(values)(i))) *bad = 1;                                                    \
    });                                                                                                      \
  }                                                                                                          \
  extern "C" __global__ void task_find_map_##name(MaskParameters p) {                                        \
    const MaskObject& object = p.objects[blockIdx.x % p.count];                                              \
    for_each_of(object, p.count, std::int64_t{object.map_width} * object.map_height,                         \
                [&](const MaskObject& o, std::int64_t i) { find_map(p, o, i, loader<T>(p.values)); });       \
  }

LANNER_MAP_KERNELS(f32, float)
LANNER_MAP_KERNELS(f16, __half)
LANNER_MAP_KERNELS(bf16, __nv_bfloat16)

extern "C" __global__ void task_find_mask(MaskParameters p) {
  const MaskObject& object = p.objects[blockIdx.x % p.count];
  for_each_of(object, p.count, std::int64_t{object.width} * object.height,
              [&](const MaskObject& o, std::int64_t i) { find_mask(p, o, i); });
}
