#pragma once
// Where grid_sample takes its samples from.

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
  /// Elements along each axis that make a sample.
  int taps() const { return mode == Mode::nearest ? 1 : mode == Mode::linear ? 2 : 4; }
};

/// Samples' elements along one axis: the k-th of sample i is element places[k * stride + i] times
/// weights[k * stride + i]. One of weight 0 counts for nothing, whatever its element is.
template<typename Place, typename Weight>
struct AxisTaps {
  Place* places;
  Weight* weights;
  std::int64_t stride;
};

/// Of the samples at grid[i * step] with i < count along an axis of `size` elements, one or more. Places are
/// worked out in double; there are functions for <double, std::int64_t> and <float, std::int32_t>.
template<typename Real, typename Place>
void find_axis_taps(const GridSampling& sampling, const Real* grid, std::int64_t step, std::int64_t count,
                    std::int64_t size, const AxisTaps<Place, Real>& taps);

} // namespace lanner::ops
