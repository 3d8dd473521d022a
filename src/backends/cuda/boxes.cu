// Copies boxes of elements between strided places, one thread an element.

#include "backends/cuda/box_kernel.h"
#include "backends/cuda/elements.cuh"

using namespace lanner::cuda;

namespace {

template<typename Body>
__device__ void for_each_element(const BoxParameters& box, Body body) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < box.elements; i += step) {
    std::int64_t rest = i, from = 0, to = 0;
    for (int axis = box.rank - 1; axis >= 0; --axis) {
      const std::int64_t outer = rest / box.sizes[axis], index = rest - outer * box.sizes[axis];
      from += index * box.source[axis];
      to += index * box.target[axis];
      rest = outer;
    }
    body(from, to);
  }
}

template<typename T>
__device__ void copy(const T* source, T* target, const BoxParameters& box) {
  for_each_element(box, [&](std::int64_t from, std::int64_t to) { target[to] = source[from]; });
}

template<typename From, typename To>
__device__ void convert(const From* source, To* target, const BoxParameters& box) {
  for_each_element(box, [&](std::int64_t from, std::int64_t to) { store(target + to, load(source + from)); });
}

} // namespace

extern "C" {

__global__ void copy_box_1(const std::uint8_t* s, std::uint8_t* t, BoxParameters box) {
  copy(s, t, box);
}
__global__ void copy_box_2(const std::uint16_t* s, std::uint16_t* t, BoxParameters box) {
  copy(s, t, box);
}
__global__ void copy_box_4(const std::uint32_t* s, std::uint32_t* t, BoxParameters box) {
  copy(s, t, box);
}
__global__ void copy_box_8(const std::uint64_t* s, std::uint64_t* t, BoxParameters box) {
  copy(s, t, box);
}

__global__ void convert_box_f32_f16(const float* s, __half* t, BoxParameters box) {
  convert(s, t, box);
}
__global__ void convert_box_f32_bf16(const float* s, __nv_bfloat16* t, BoxParameters box) {
  convert(s, t, box);
}
__global__ void convert_box_f16_f32(const __half* s, float* t, BoxParameters box) {
  convert(s, t, box);
}
__global__ void convert_box_f16_bf16(const __half* s, __nv_bfloat16* t, BoxParameters box) {
  convert(s, t, box);
}
__global__ void convert_box_bf16_f32(const __nv_bfloat16* s, float* t, BoxParameters box) {
  convert(s, t, box);
}
__global__ void convert_box_bf16_f16(const __nv_bfloat16* s, __half* t, BoxParameters box) {
  convert(s, t, box);
}
}
