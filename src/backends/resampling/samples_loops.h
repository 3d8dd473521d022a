#pragma once
// The loops of samples.h over the vectors of simd.h; see tile_functions.h for how it is compiled.

#include "backends/resampling/elements_at.h"
#include "backends/resampling/samples.h"

namespace lanner::LANNER_SIMD {

static_assert(sample_lanes % lanes == 0);

/// In place, from the last tap on, so that elements still to be read are not overwritten.
inline void join_taps(SampleTaps& samples, const ops::AxisTaps<std::int32_t, float>& axis, std::int64_t count,
                      std::int64_t size) {
  const I step = I{} + static_cast<std::int32_t>(size);
  for (std::int64_t t = samples.taps - 1; t >= 0; --t)
    for (std::int64_t k = count - 1; k >= 0; --k)
      for (std::int64_t i = 0; i < samples.count; i += lanes) {
        const std::int64_t from = t * samples.stride + i, with = k * axis.stride + i,
                           to = (t * count + k) * samples.stride + i;
        store_offsets(samples.offsets + to,
                      load_offsets(samples.offsets + from) * step + load_offsets(axis.indices + with));
        store(samples.weights + to, load(samples.weights + from) * load(axis.weights + with));
      }
  samples.taps *= count;
}

inline void sample_plane(const SampleTaps& samples, const float* from, float* to) {
  for (std::int64_t i = 0; i < samples.count; i += lanes) {
    F total{};
    for (std::int64_t t = 0; t < samples.taps; ++t) {
      const std::int64_t at = t * samples.stride + i;
      const F weight = load(samples.weights + at);
      // 0 times infinity is NaN, so elements of weight 0 are masked.
      const F element =
          as_float(as_bits(elements_at(from, load_offsets(samples.offsets + at))) & (weight != splat(0)));
      total = multiply_add(weight, element, total);
    }
    const std::int64_t rest = samples.count - i;
    if (rest >= lanes)
      store(to + i, total);
    else
      store_some(to + i, total, rest);
  }
}

/// Sample i of the channels from `from` on. `load_at` reads a vector.
template<int vectors, typename Load>
void sum_taps(const SampleTaps& samples, std::int64_t i, const float* from, std::int64_t inner, Load load_at,
              F (&totals)[vectors]) {
  for (F& total : totals) total = F{};
  for (std::int64_t t = 0; t < samples.taps; ++t) {
    const std::int64_t tap = t * samples.stride + i;
    const float weight = samples.weights[tap];
    if (weight == 0) continue;
    const float* at = from + samples.offsets[tap] * inner;
    for (int v = 0; v < vectors; ++v)
      totals[v] = multiply_add(splat(weight), load_at(at + v * lanes), totals[v]);
  }
}

inline void sample_pixels(const SampleTaps& samples, const float* from, std::int64_t inner, float* to) {
  constexpr int vectors = 4;
  for (std::int64_t i = 0; i < samples.count; ++i, to += inner) {
    std::int64_t c = 0;
    for (; c + vectors * lanes <= inner; c += vectors * lanes) {
      F totals[vectors];
      sum_taps(samples, i, from + c, inner, load, totals);
      for (int v = 0; v < vectors; ++v) store(to + c + v * lanes, totals[v]);
    }
    for (; c < inner; c += lanes) {
      const std::int64_t count = inner - c < lanes ? inner - c : lanes;
      F total[1];
      if (count == lanes)
        sum_taps(samples, i, from + c, inner, load, total);
      else
        sum_taps(
            samples, i, from + c, inner, [count](const float* at) { return load_some(at, count); }, total);
      store_some(to + c, total[0], count);
    }
  }
}

/// For this instruction set.
inline constexpr SampleFunctions samples{join_taps, sample_plane, sample_pixels};

} // namespace lanner::LANNER_SIMD
