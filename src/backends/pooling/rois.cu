// roi_align, one thread per result.

#include "backends/cuda/elements.cuh"
#include "backends/pooling/roi_kernel.h"

using namespace lanner::cuda;

namespace {

template<typename T>
__device__ void roi_align(const T* images, const float* boxes, const std::int64_t* numbers, T* out,
                          std::int64_t count, const RoiParameters& p) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const int column = static_cast<int>(i % p.columns), row = static_cast<int>(i / p.columns % p.rows);
    const std::int64_t plane = i / p.columns / p.rows, region = plane / p.channels;
    store(out + i,
          static_cast<float>(roi_bin(p, boxes + region * 4, numbers[region], plane % p.channels, row, column,
                                     [&](std::int64_t offset) { return load(images + offset); })));
  }
}

} // namespace

extern "C" {

__global__ void roi_align_f32(const float* images, const float* boxes, const std::int64_t* numbers,
                              float* out, std::int64_t count, RoiParameters p) {
  roi_align(images, boxes, numbers, out, count, p);
}
__global__ void roi_align_f16(const __half* images, const float* boxes, const std::int64_t* numbers,
                              __half* out, std::int64_t count, RoiParameters p) {
  roi_align(images, boxes, numbers, out, count, p);
}
__global__ void roi_align_bf16(const __nv_bfloat16* images, const float* boxes, const std::int64_t* numbers,
                               __nv_bfloat16* out, std::int64_t count, RoiParameters p) {
  roi_align(images, boxes, numbers, out, count, p);
}
}
