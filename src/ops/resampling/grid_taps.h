#pragma once
// Sampling positions and weights of grid_sample.

#include <cstdint>

#include "graph/attribute.h"

namespace lanner::ops {

struct GridSampling {
  enum class Mode : std::uint8_t { nearest, linear, cubic };
  enum class Padding : std::uint8_t { zeros, border, reflection };
  Mode mode;
  Padding padding;
  bool align_corners;

  static GridSampling read(const AttributeMap& attributes);
  /// Number of elements per axis that a sample is computed from.
  int taps() const { return mode == Mode::nearest ? 1 : mode == Mode::linear ? 2 : 4; }
};

/// The elements of samples along one axis: the k-th of sample i is element indices[k * stride + i] times
/// weights[k * stride + i]. One with weight 0 has no effect, whatever its element is.
template<typename Index, typename Weight>
struct AxisTaps {
  Index* indices;
  Weight* weights;
  std::int64_t stride;
};

/// Computes the taps of the samples at grid[i * step] with i < count along a non-empty axis of `size`
/// elements. Computed in double; instantiated for <double, std::int64_t> and <float, std::int32_t>.
template<typename Real, typename Index>
void find_axis_taps(const GridSampling& sampling, const Real* grid, std::int64_t step, std::int64_t count,
                    std::int64_t size, const AxisTaps<Index, Real>& taps);

} // namespace lanner::ops
