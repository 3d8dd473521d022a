// resize, and pad where it repeats elements: one thread per result.

#include "backends/cuda/elements.cuh"
#include "backends/resampling/taps_kernel.h"

using namespace lanner::cuda;

namespace {

/// The taps of one axis for one result; for an axis without a table, one tap at 0 of weight 1.
struct Range {
  std::int32_t begin = 0, end = 1;
};

template<typename T>
__device__ float sum_of(const T* source, const TapsParameters& p, const Range* ranges) {
  const auto offset_of = [&](int table, std::int32_t tap) {
    return p.tables[table].indices ? p.tables[table].indices[tap] * p.tables[table].stride : 0;
  };
  const auto weight = [&](int table, std::int32_t tap) {
    return p.tables[table].weights ? p.tables[table].weights[tap] : 1.0f;
  };
  float sum = 0;
  for (std::int32_t c = ranges[2].begin; c < ranges[2].end; ++c) {
    float middle = 0;
    for (std::int32_t b = ranges[1].begin; b < ranges[1].end; ++b) {
      const T* row = source + offset_of(2, c) + offset_of(1, b);
      float inner = 0;
      for (std::int32_t a = ranges[0].begin; a < ranges[0].end; ++a)
        inner += weight(0, a) * load(row + offset_of(0, a));
      middle += weight(1, b) * inner;
    }
    sum += weight(2, c) * middle;
  }
  return sum;
}

template<typename T>
__device__ void taps(const T* source, T* target, const TapsParameters& p) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < p.elements; i += step) {
    auto rest = static_cast<std::uint32_t>(i);
    std::int64_t from = 0, to = 0;
    Range ranges[max_resampled];
    for (int axis = p.axes - 1; axis >= 0; --axis) {
      const TapsAxis& one = p.list[axis];
      const std::uint32_t outer = rest / one.size, index = rest - outer * one.size;
      rest = outer;
      to += index * one.target;
      if (one.table < 0)
        from += index * one.source;
      else
        ranges[one.table] = {p.tables[one.table].begins[index], p.tables[one.table].begins[index + 1]};
    }
    store(target + to, sum_of(source + from, p, ranges));
  }
}

} // namespace

extern "C" {

__global__ void taps_f32(const float* s, float* t, TapsParameters p) {
  taps(s, t, p);
}
__global__ void taps_f16(const __half* s, __half* t, TapsParameters p) {
  taps(s, t, p);
}
__global__ void taps_bf16(const __nv_bfloat16* s, __nv_bfloat16* t, TapsParameters p) {
  taps(s, t, p);
}
}
