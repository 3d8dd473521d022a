// Preprocess in one kernel: a thread a target pixel. Compiled to a fatbin that liblanner.so carries and loads
// through the driver.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "preprocess_kernel.h"

namespace {

__device__ void store(const lanner::DevicePreprocess& p, std::int64_t at, float value) {
  switch (p.dtype) {
  case 0:
    static_cast<float*>(p.out)[at] = value;
    break;
  case 1:
    static_cast<__half*>(p.out)[at] = __float2half_rn(value);
    break;
  case 2:
    static_cast<unsigned char*>(p.out)[at] =
        static_cast<unsigned char>(fminf(fmaxf(value, 0.f), 255.f) + 0.5f);
    break;
  default:
    static_cast<__nv_bfloat16*>(p.out)[at] = __float2bfloat16_rn(value);
    break;
  }
}

} // namespace

/// Grid and block cover the target's width and height; threads beyond it do nothing.
extern "C" __global__ void lanner_preprocess(const lanner::DevicePreprocess p) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= p.width || y >= p.height) return;
  float values[3];
  lanner::preprocess_pixel(p, x, y, values);
  const int channels = p.gray ? 1 : 3;
  for (int c = 0; c < channels; ++c) {
    const std::int64_t pixel = static_cast<std::int64_t>(y) * p.width + x;
    store(p,
          p.channels_last ? pixel * channels + c : static_cast<std::int64_t>(c) * p.width * p.height + pixel,
          values[c]);
  }
}
