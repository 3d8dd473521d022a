// Preprocess in one kernel: one thread per target pixel, one warp per 32 pixels of a row. Compiled to a
// fatbin that liblanner.so embeds and loads through the driver.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "preprocess_kernel.h"
#include "staged_row.h"

namespace {

constexpr int across = 32, down = 4;

__device__ void store(const lanner::DevicePreprocess& p, void* out, long long at, float value) {
  switch (p.dtype) {
  case 0:
    static_cast<float*>(out)[at] = value;
    break;
  case 1:
    static_cast<__half*>(out)[at] = __float2half_rn(value);
    break;
  case 2:
    static_cast<unsigned char*>(out)[at] = static_cast<unsigned char>(fminf(fmaxf(value, 0.f), 255.f) + 0.5f);
    break;
  default:
    static_cast<__nv_bfloat16*>(out)[at] = __float2bfloat16_rn(value);
    break;
  }
}

/// Grid and block cover the target's width and height; a block is 32 by 4.
template<typename Reader>
__device__ void run(const lanner::DevicePreprocess& p) {
  __shared__ unsigned staged[down][across * 3];
  const int left = blockIdx.x * across, x = left + threadIdx.x, y = blockIdx.y * down + threadIdx.y;
  if (y >= p.height) return;
  float values[3];
  if (x < p.width) lanner::preprocess_pixel<Reader>(p, x, y, values);
  const long long pixel = static_cast<long long>(y) * p.width + x;
  if (!p.gray && p.channels_last && p.words) {
    for (int c = 0; c < 3 && x < p.width; ++c) store(p, staged[threadIdx.y], threadIdx.x * 3 + c, values[c]);
    const int bytes = 3 * (p.dtype == 0 ? 4 : p.dtype == 2 ? 1 : 2);
    const int pixels = p.width - left < across ? p.width - left : across;
    auto* out = static_cast<unsigned char*>(p.out) + (static_cast<long long>(y) * p.width + left) * bytes;
    return lanner::write_staged(out, reinterpret_cast<const unsigned char*>(staged[threadIdx.y]),
                                pixels * bytes, threadIdx.x);
  }
  if (x >= p.width) return;
  const int channels = p.gray ? 1 : 3;
  const long long plane = static_cast<long long>(p.width) * p.height;
  for (int c = 0; c < channels; ++c)
    store(p, p.out, p.channels_last ? pixel * channels + c : c * plane + pixel, values[c]);
}

} // namespace

extern "C" __global__ void lanner_preprocess_taps_1(const __grid_constant__ lanner::DevicePreprocess p) {
  run<lanner::ByTaps<unsigned char>>(p);
}
extern "C" __global__ void lanner_preprocess_taps_2(const __grid_constant__ lanner::DevicePreprocess p) {
  run<lanner::ByTaps<unsigned short>>(p);
}
extern "C" __global__ void lanner_preprocess_bilinear_1(const __grid_constant__ lanner::DevicePreprocess p) {
  run<lanner::ByNeighbours<unsigned char>>(p);
}
extern "C" __global__ void lanner_preprocess_bilinear_2(const __grid_constant__ lanner::DevicePreprocess p) {
  run<lanner::ByNeighbours<unsigned short>>(p);
}
namespace {

/// One picture of the batch for each z of the grid. Its parameters are the same for all threads of a block,
/// so one thread reads them.
template<template<typename> typename Reader>
__device__ void run_one_of(const lanner::DevicePictures& all) {
  __shared__ lanner::DevicePreprocess p;
  if (threadIdx.x == 0 && threadIdx.y == 0) lanner::take_picture(all, blockIdx.z, p);
  __syncthreads();
  if (p.components[0].bytes == 2) return run<Reader<unsigned short>>(p);
  run<Reader<unsigned char>>(p);
}

} // namespace

extern "C" __global__ void lanner_pictures_taps(const __grid_constant__ lanner::DevicePictures all) {
  run_one_of<lanner::ByTaps>(all);
}
extern "C" __global__ void lanner_pictures_bilinear(const __grid_constant__ lanner::DevicePictures all) {
  run_one_of<lanner::ByNeighbours>(all);
}
