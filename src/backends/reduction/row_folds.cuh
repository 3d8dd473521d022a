#pragma once
// Reductions of rows, in device code.

#include <cstdint>

#include "backends/cuda/elements.cuh"

namespace lanner::cuda {

inline constexpr int warp = 32;

template<typename T>
struct SumIn {
  using Total = T;
  static __device__ T start() { return 0; }
  static __device__ T join(T a, T b) { return a + b; }
};
using Sum = SumIn<float>;
struct Max {
  using Total = float;
  static __device__ float start() { return -__int_as_float(0x7f800000); }
  static __device__ float join(float a, float b) { return a > b || a != a ? a : b; }
};
struct Min {
  using Total = float;
  static __device__ float start() { return __int_as_float(0x7f800000); }
  static __device__ float join(float a, float b) { return a < b || a != a ? a : b; }
};

/// Returned to every thread of the warp.
template<typename Fold>
__device__ typename Fold::Total join_warp(typename Fold::Total value) {
  for (int distance = warp / 2; distance > 0; distance /= 2)
    value = Fold::join(value, __shfl_xor_sync(0xffffffffu, value, distance));
  return value;
}

/// Returned to every thread of the block.
template<typename Fold>
__device__ typename Fold::Total join_block(typename Fold::Total value) {
  __shared__ typename Fold::Total parts[warp];
  value = join_warp<Fold>(value);
  __syncthreads();
  if (threadIdx.x % warp == 0) parts[threadIdx.x / warp] = value;
  __syncthreads();
  typename Fold::Total total = Fold::start();
  for (int i = 0; i < static_cast<int>(blockDim.x) / warp; ++i) total = Fold::join(total, parts[i]);
  return total;
}

/// The reduction of a row: its elements' terms, combined.
template<typename F>
struct Plain {
  using Fold = F;
  static __device__ float term(float x) { return x; }
  static __device__ float result(float total, std::int64_t /*length*/) { return total; }
};
struct Mean : Plain<Sum> {
  static __device__ float result(float total, std::int64_t length) {
    return total / static_cast<float>(length);
  }
};
struct Magnitudes : Plain<Sum> {
  static __device__ float term(float x) { return fabsf(x); }
};
/// In double: squares of floats may overflow or underflow.
struct Squares {
  using Fold = SumIn<double>;
  static __device__ double term(float x) { return static_cast<double>(x) * x; }
  static __device__ float result(double total, std::int64_t /*length*/) { return static_cast<float>(total); }
};
struct Length : Squares {
  static __device__ float result(double total, std::int64_t /*length*/) {
    return static_cast<float>(sqrt(total));
  }
};

} // namespace lanner::cuda
