// Reductions, softmax and layer normalisation: one block a row.

#include "backends/cuda/elements.cuh"
#include "backends/cuda/row_kernel.h"

using namespace lanner::cuda;

namespace {

constexpr int warp = 32;

__device__ std::int64_t offset_of(std::int64_t index, int axes, const std::int64_t* sizes,
                                  const std::int64_t* strides) {
  std::int64_t offset = 0;
  for (int axis = axes - 1; axis >= 0; --axis) {
    const std::int64_t outer = index / sizes[axis];
    offset += (index - outer * sizes[axis]) * strides[axis];
    index = outer;
  }
  return offset;
}

struct Sum {
  static __device__ float start() { return 0; }
  static __device__ float join(float a, float b) { return a + b; }
};
struct Max {
  static __device__ float start() { return -__int_as_float(0x7f800000); }
  static __device__ float join(float a, float b) { return a > b || a != a ? a : b; }
};
struct Min {
  static __device__ float start() { return __int_as_float(0x7f800000); }
  static __device__ float join(float a, float b) { return a < b || a != a ? a : b; }
};

/// The same value for every thread of the block.
template<typename Fold>
__device__ float join_block(float value) {
  __shared__ float parts[warp];
  for (int distance = warp / 2; distance > 0; distance /= 2)
    value = Fold::join(value, __shfl_xor_sync(0xffffffffu, value, distance));
  __syncthreads();
  if (threadIdx.x % warp == 0) parts[threadIdx.x / warp] = value;
  __syncthreads();
  float total = Fold::start();
  for (int i = 0; i < static_cast<int>(blockDim.x) / warp; ++i) total = Fold::join(total, parts[i]);
  return total;
}

template<typename Fold, typename T, typename Term>
__device__ float fold_row(const T* row, const RowParameters& p, Term term) {
  float value = Fold::start();
  for (std::int64_t i = threadIdx.x; i < p.length; i += blockDim.x)
    value = Fold::join(value, term(load(row + offset_of(i, p.inner, p.inner_sizes, p.inner_source))));
  return join_block<Fold>(value);
}

template<typename Body>
__device__ void for_each_row(const RowParameters& p, Body body) {
  for (std::int64_t row = blockIdx.x; row < p.rows; row += gridDim.x)
    body(offset_of(row, p.kept, p.kept_sizes, p.kept_source),
         offset_of(row, p.kept, p.kept_sizes, p.kept_target));
}

template<typename Fold, bool mean, typename T>
__device__ void reduce(const T* source, T* target, const RowParameters& p) {
  for_each_row(p, [&](std::int64_t from, std::int64_t to) {
    const float total = fold_row<Fold>(source + from, p, [](float x) { return x; });
    if (threadIdx.x == 0) store(target + to, mean ? total / static_cast<float>(p.length) : total);
  });
}

template<bool logarithm, typename T>
__device__ void softmax(const T* source, T* target, const RowParameters& p) {
  for_each_row(p, [&](std::int64_t from, std::int64_t to) {
    const float most = fold_row<Max>(source + from, p, [](float x) { return x; });
    const float sum = fold_row<Sum>(source + from, p, [&](float x) { return expf(x - most); });
    const float log_sum = logarithm ? logf(sum) : 0;
    for (std::int64_t i = threadIdx.x; i < p.length; i += blockDim.x) {
      const float x = load(source + from + offset_of(i, p.inner, p.inner_sizes, p.inner_source));
      const float y = logarithm ? x - most - log_sum : expf(x - most) / sum;
      store(target + to + offset_of(i, p.inner, p.inner_sizes, p.inner_target), y);
    }
  });
}

template<typename T>
__device__ void layer_normalization(const T* source, const T* scale, const T* bias, T* target,
                                    const RowParameters& p) {
  for_each_row(p, [&](std::int64_t from, std::int64_t to) {
    const float n = static_cast<float>(p.length);
    const float mean = fold_row<Sum>(source + from, p, [](float x) { return x; }) / n;
    const float variance =
        fold_row<Sum>(source + from, p, [&](float x) { return (x - mean) * (x - mean); }) / n;
    const float factor = 1.0f / sqrtf(variance + p.epsilon);
    for (std::int64_t i = threadIdx.x; i < p.length; i += blockDim.x) {
      const float x = load(source + from + offset_of(i, p.inner, p.inner_sizes, p.inner_source));
      const float shift = bias ? load(bias + i) : 0.0f;
      store(target + to + offset_of(i, p.inner, p.inner_sizes, p.inner_target),
            (x - mean) * factor * load(scale + i) + shift);
    }
  });
}

} // namespace

#define LANNER_ROW_KERNELS(suffix, T)                                                                        \
  __global__ void reduce_sum_##suffix(const T* s, T* t, RowParameters p) {                                   \
    reduce<Sum, false>(s, t, p);                                                                             \
  }                                                                                                          \
  __global__ void reduce_mean_##suffix(const T* s, T* t, RowParameters p) {                                  \
    reduce<Sum, true>(s, t, p);                                                                              \
  }                                                                                                          \
  __global__ void reduce_max_##suffix(const T* s, T* t, RowParameters p) {                                   \
    reduce<Max, false>(s, t, p);                                                                             \
  }                                                                                                          \
  __global__ void reduce_min_##suffix(const T* s, T* t, RowParameters p) {                                   \
    reduce<Min, false>(s, t, p);                                                                             \
  }                                                                                                          \
  __global__ void softmax_##suffix(const T* s, T* t, RowParameters p) {                                      \
    softmax<false>(s, t, p);                                                                                 \
  }                                                                                                          \
  __global__ void log_softmax_##suffix(const T* s, T* t, RowParameters p) {                                  \
    softmax<true>(s, t, p);                                                                                  \
  }                                                                                                          \
  __global__ void layer_normalization_##suffix(const T* s, const T* scale, const T* bias, T* t,              \
                                               RowParameters p) {                                            \
    layer_normalization(s, scale, bias, t, p);                                                               \
  }

extern "C" {
LANNER_ROW_KERNELS(f32, float)
LANNER_ROW_KERNELS(f16, __half)
LANNER_ROW_KERNELS(bf16, __nv_bfloat16)
}
