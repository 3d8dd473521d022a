// Reductions, softmax and normalisation of rows with any strides: one block per row. dense_rows.cu handles
// dense ones.

#include "backends/reduction/row_folds.cuh"
#include "backends/reduction/row_kernel.h"

using namespace lanner::cuda;

namespace {

__device__ std::int64_t offset_of(std::int64_t index, int axes, const std::int64_t* sizes,
                                  const std::int64_t* strides) {
  std::int64_t offset = 0;
  for (int axis = axes - 1; axis > 0; --axis) {
    const std::int64_t outer = index / sizes[axis];
    offset += (index - outer * sizes[axis]) * strides[axis];
    index = outer;
  }
  return axes > 0 ? offset + index * strides[0] : 0;
}

template<typename Fold, typename T, typename Term>
__device__ typename Fold::Total fold_row(const T* row, const RowParameters& p, Term term) {
  typename Fold::Total value = Fold::start();
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

template<typename Kind, typename T>
__device__ void reduce(const T* source, T* target, const RowParameters& p) {
  for_each_row(p, [&](std::int64_t from, std::int64_t to) {
    const auto total = fold_row<typename Kind::Fold>(source + from, p, [](float x) { return Kind::term(x); });
    if (threadIdx.x == 0) store(target + to, Kind::result(total, p.length));
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

/// One element to normalise: plus `added`, rounded as that sum would be.
template<typename T>
__device__ float load_sum(const T* x, const T* added, std::int64_t at) {
  if (!added) return load(x + at);
  T sum;
  store(&sum, load(x + at) + load(added + at));
  return load(&sum);
}

/// The average of term(element) over a row.
template<typename T, typename Term>
__device__ float average(const T* x, const T* added, const RowParameters& p, std::int64_t from, Term term) {
  float value = 0;
  for (std::int64_t i = threadIdx.x; i < p.length; i += blockDim.x)
    value += term(load_sum(x, added, from + offset_of(i, p.inner, p.inner_sizes, p.inner_source)));
  return join_block<Sum>(value) / static_cast<float>(p.length);
}

template<typename T>
__device__ void normalization(const T* x, const T* added, const T* scale, const T* bias, T* sum, T* y,
                              const NormalizationParameters& n) {
  const RowParameters& p = n.rows;
  for (std::int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
    const std::int64_t from = offset_of(row, p.kept, p.kept_sizes, p.kept_source);
    const float mean = n.centred ? average(x, added, p, from, [](float v) { return v; }) : 0.0f;
    const float variance = average(x, added, p, from, [&](float v) { return (v - mean) * (v - mean); });
    const float factor = 1.0f / sqrtf(variance + n.epsilon);
    const std::int64_t first = row % n.repeat * (p.length / n.shared);
    for (std::int64_t i = threadIdx.x; i < p.length; i += blockDim.x) {
      const std::int64_t at = from + offset_of(i, p.inner, p.inner_sizes, p.inner_source);
      const std::int64_t k = first + (n.shared == 1 ? i : i / n.shared);
      const float value = load_sum(x, added, at);
      if (sum) store(sum + at, value);
      store(y + at, (value - mean) * factor * load(scale + k) + (bias ? load(bias + k) : 0.0f));
    }
  }
}

} // namespace

#define LANNER_ROW_KERNELS(suffix, T)                                                                        \
  __global__ void reduce_sum_##suffix(const T* s, T* t, RowParameters p) {                                   \
    reduce<Plain<Sum>>(s, t, p);                                                                             \
  }                                                                                                          \
  __global__ void reduce_mean_##suffix(const T* s, T* t, RowParameters p) {                                  \
    reduce<Mean>(s, t, p);                                                                                   \
  }                                                                                                          \
  __global__ void reduce_l1_##suffix(const T* s, T* t, RowParameters p) {                                    \
    reduce<Magnitudes>(s, t, p);                                                                             \
  }                                                                                                          \
  __global__ void reduce_l2_##suffix(const T* s, T* t, RowParameters p) {                                    \
    reduce<Length>(s, t, p);                                                                                 \
  }                                                                                                          \
  __global__ void reduce_sum_square_##suffix(const T* s, T* t, RowParameters p) {                            \
    reduce<Squares>(s, t, p);                                                                                \
  }                                                                                                          \
  __global__ void reduce_max_##suffix(const T* s, T* t, RowParameters p) {                                   \
    reduce<Plain<Max>>(s, t, p);                                                                             \
  }                                                                                                          \
  __global__ void reduce_min_##suffix(const T* s, T* t, RowParameters p) {                                   \
    reduce<Plain<Min>>(s, t, p);                                                                             \
  }                                                                                                          \
  __global__ void softmax_##suffix(const T* s, T* t, RowParameters p) {                                      \
    softmax<false>(s, t, p);                                                                                 \
  }                                                                                                          \
  __global__ void log_softmax_##suffix(const T* s, T* t, RowParameters p) {                                  \
    softmax<true>(s, t, p);                                                                                  \
  }                                                                                                          \
  __global__ void normalization_##suffix(const T* x, const T* added, const T* scale, const T* bias, T* sum,  \
                                         T* y, NormalizationParameters p) {                                  \
    normalization(x, added, scale, bias, sum, y, p);                                                         \
  }

extern "C" {
LANNER_ROW_KERNELS(f32, float)
LANNER_ROW_KERNELS(f16, __half)
LANNER_ROW_KERNELS(bf16, __nv_bfloat16)
}
