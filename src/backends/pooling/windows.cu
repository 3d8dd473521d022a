// max_pool and average_pool, one thread per result.

#include "backends/cuda/elements.cuh"
#include "backends/pooling/window_kernel.h"

using namespace lanner::cuda;

namespace {

struct WindowPosition {
  std::int64_t source = 0, target = 0;
  int position[3] = {};
};

__device__ WindowPosition position_of(std::int64_t index, const PoolParameters& p) {
  WindowPosition window;
  std::int64_t rest = index, channel = 0;
  if (p.channels_innermost) {
    channel = rest % p.channels;
    rest /= p.channels;
  }
  for (int axis = 2; axis >= 0; --axis) {
    window.position[axis] = static_cast<int>(rest % p.positions[axis]);
    rest /= p.positions[axis];
    window.target += window.position[axis] * p.target[2 + axis];
  }
  if (!p.channels_innermost) {
    channel = rest % p.channels;
    rest /= p.channels;
  }
  window.source = rest * p.source[0] + channel * p.source[1];
  window.target += rest * p.target[0] + channel * p.target[1];
  return window;
}

/// Calls body(offset) for each tap inside the image.
template<typename Body>
__device__ void for_each_tap(const PoolParameters& p, const WindowPosition& window, Body body) {
  int start[3];
  for (int axis = 0; axis < 3; ++axis) start[axis] = window.position[axis] * p.strides[axis] - p.begin[axis];
  for (int a = 0; a < p.kernel[0]; ++a) {
    const int z = start[0] + a * p.dilations[0];
    if (z < 0 || z >= p.image[0]) continue;
    for (int b = 0; b < p.kernel[1]; ++b) {
      const int y = start[1] + b * p.dilations[1];
      if (y < 0 || y >= p.image[1]) continue;
      for (int c = 0; c < p.kernel[2]; ++c) {
        const int x = start[2] + c * p.dilations[2];
        if (x < 0 || x >= p.image[2]) continue;
        body(z * p.source[2] + y * p.source[3] + x * p.source[4]);
      }
    }
  }
}

/// Taps inside the image, or inside the padded image where padding counts.
__device__ int window_size(const PoolParameters& p, const WindowPosition& window) {
  int size = 1;
  for (int axis = 0; axis < 3; ++axis) {
    const int start = window.position[axis] * p.strides[axis] - p.begin[axis];
    const int low = p.count_padding ? -p.begin[axis] : 0;
    const int high = p.image[axis] + (p.count_padding ? p.end[axis] : 0);
    int inside = 0;
    for (int tap = 0; tap < p.kernel[axis]; ++tap) {
      const int at = start + tap * p.dilations[axis];
      inside += at >= low && at < high;
    }
    size *= inside;
  }
  return size;
}

__device__ std::int64_t results(const PoolParameters& p) {
  return p.batch * p.channels * p.positions[0] * p.positions[1] * p.positions[2];
}

template<typename T>
__device__ void max_pool(const T* source, T* target, const PoolParameters& p) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x, count = results(p);
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const WindowPosition window = position_of(i, p);
    float best = -__int_as_float(0x7f800000);
    for_each_tap(p, window, [&](std::int64_t offset) {
      const float value = load(source + window.source + offset);
      if (value > best || value != value) best = value;
    });
    store(target + window.target, best);
  }
}

template<typename T>
__device__ void average_pool(const T* source, T* target, const PoolParameters& p) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x, count = results(p);
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const WindowPosition window = position_of(i, p);
    float sum = 0;
    for_each_tap(p, window, [&](std::int64_t offset) { sum += load(source + window.source + offset); });
    store(target + window.target, sum / static_cast<float>(window_size(p, window)));
  }
}

} // namespace

extern "C" {

__global__ void max_pool_f32(const float* s, float* t, PoolParameters p) {
  max_pool(s, t, p);
}
__global__ void max_pool_f16(const __half* s, __half* t, PoolParameters p) {
  max_pool(s, t, p);
}
__global__ void max_pool_bf16(const __nv_bfloat16* s, __nv_bfloat16* t, PoolParameters p) {
  max_pool(s, t, p);
}
__global__ void max_pool_i8(const signed char* s, signed char* t, PoolParameters p) {
  max_pool(s, t, p);
}
__global__ void max_pool_u8(const unsigned char* s, unsigned char* t, PoolParameters p) {
  max_pool(s, t, p);
}
__global__ void average_pool_f32(const float* s, float* t, PoolParameters p) {
  average_pool(s, t, p);
}
__global__ void average_pool_f16(const __half* s, __half* t, PoolParameters p) {
  average_pool(s, t, p);
}
__global__ void average_pool_bf16(const __nv_bfloat16* s, __nv_bfloat16* t, PoolParameters p) {
  average_pool(s, t, p);
}
}
