#pragma once
// The inner loops of resize: weighted sums of elements along one axis.

#include <cstdint>

#include "base/limits/counted_vector.h"
#include "ops/resampling/axis_taps.h"

namespace lanner {

/// As ops::ResampledAxis.
struct TapList {
  const std::int32_t *begins, *indices;
  const float* weights;
};

/// Adjacent results, one per lane. Entry `begin` + t * lanes + lane of the lists is tap t of a lane; of
/// `taps`, the first `common` exist for every lane. A position is relative to `base`; it is -1 where a lane
/// has no such tap.
struct LineVector {
  enum class Reach : std::uint8_t { one, two, far }; ///< Whether all positions are within one vector, or two.
  std::int64_t begin = 0;
  std::int32_t base = 0, taps = 0, common = 0;
  Reach reach = Reach::far;
};

/// Taps along an innermost axis.
struct TapLine {
  const LineVector* vectors;
  const std::int32_t* indices;
  const float* weights;
  std::int64_t size; ///< Length of the axis.
};

/// Owns the arrays of a TapLine.
class TapLineLists {
public:
  TapLineLists() = default;
  /// For an axis of `size` elements and vectors of `lanes`.
  TapLineLists(const ops::ResampledAxis& axis, std::int64_t size, std::int64_t lanes);
  TapLine line() const { return {vectors_.data(), indices_.data(), weights_.data(), size_}; }

private:
  void add_vector(const ops::ResampledAxis& axis, std::int64_t first, std::int64_t count, std::int64_t lanes);

  CountedVector<LineVector> vectors_;
  CountedVector<std::int32_t> indices_;
  CountedVector<float> weights_;
  std::int64_t size_ = 0;
};

struct TapSumFunctions {
  std::int64_t lanes;
  /// to[(i - first) * inner + k] = the sum of from[(index - base) * inner + k] over the taps of index i, for
  /// i from `first` up to `last` and k < inner.
  void (*rows)(const TapList& list, std::int64_t first, std::int64_t last, std::int64_t base,
               const float* from, std::int64_t inner, float* to);
  /// Results `first` up to `last` of each of `lines`, which are contiguous; `first` is a multiple of `lanes`.
  void (*lines)(const TapLine& line, std::int64_t first, std::int64_t last, const float* from, float* to,
                std::int64_t lines);
};

/// The functions for this processor.
const TapSumFunctions& tap_sum_functions();

// One for each instruction set.
const TapSumFunctions& tap_sum_functions_baseline();
const TapSumFunctions& tap_sum_functions_avx2();
const TapSumFunctions& tap_sum_functions_avx512();

} // namespace lanner
