#pragma once
// The inner loops of grid_sample.

#include <cstdint>

#include "ops/resampling/grid_taps.h"

namespace lanner {

/// Lists of taps are padded to a multiple of this: whole vectors of every instruction set.
inline constexpr std::int64_t sample_lanes = 16;

/// Samples of a plane: tap t of sample i is the element at offsets[t * stride + i] times weights[t * stride +
/// i]; a weight of 0 contributes nothing, whatever the element is. After the last sample, entries of weight 0
/// and offset 0 pad the list to a multiple of sample_lanes.
struct SampleTaps {
  std::int32_t* offsets;
  float* weights;
  std::int64_t stride, taps, count;
};

struct SampleFunctions {
  /// Adds the taps of one more axis, the innermost, with `size` elements: each of `samples` becomes `count`.
  void (*join)(SampleTaps& samples, const ops::AxisTaps<std::int32_t, float>& axis, std::int64_t count,
               std::int64_t size);
  /// to[i] = sample i of a plane.
  void (*plane)(const SampleTaps& samples, const float* from, float* to);
  /// to[i * inner + c] = sample i of channel c, where offsets count groups of `inner` contiguous elements.
  void (*pixels)(const SampleTaps& samples, const float* from, std::int64_t inner, float* to);
};

/// The functions for this processor.
const SampleFunctions& sample_functions();

// One for each instruction set.
const SampleFunctions& sample_functions_baseline();
const SampleFunctions& sample_functions_avx2();
const SampleFunctions& sample_functions_avx512();

} // namespace lanner
