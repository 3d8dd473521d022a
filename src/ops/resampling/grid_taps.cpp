#include "ops/resampling/grid_taps.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace lanner::ops {

namespace {

using Mode = GridSampling::Mode;
using Padding = GridSampling::Padding;

/// An axis of the image, and the interval that reflection maps to.
struct SampledAxis {
  bool align_corners;
  std::int64_t size;
  double length, last, least, most;

  SampledAxis(const GridSampling& sampling, std::int64_t elements)
      : align_corners(sampling.align_corners), size(elements), length(static_cast<double>(elements)),
        last(static_cast<double>(elements - 1)), least(align_corners ? 0 : -0.5),
        most(align_corners ? last : last + 0.5) {}
};

double denormalize(double x, const SampledAxis& axis) {
  return axis.align_corners ? (x + 1) / 2 * (axis.length - 1) : ((x + 1) * axis.length - 1) / 2;
}

double reflect(double x, const SampledAxis& axis) {
  const double range = axis.most - axis.least;
  if (range <= 0) return axis.least;
  const double folded = std::fmod(std::abs(x - axis.least), 2 * range);
  return axis.least + (folded <= range ? folded : 2 * range - folded);
}

/// `x` moved to where the padding samples. A cubic's position stays: each of its elements is taken from where
/// the padding says, so that weights keep changing near an edge.
template<Mode mode, Padding padding>
double inside(double x, const SampledAxis& axis) {
  if (!std::isfinite(x)) x = -1e6; // NaN and infinity are outside.
  if constexpr (padding != Padding::zeros && mode != Mode::cubic) {
    const bool outside = x < axis.least || x > axis.most;
    if (outside) return padding == Padding::border ? std::clamp(x, 0.0, axis.last) : reflect(x, axis);
  }
  return std::clamp(x, -1e9, 1e9);
}

/// The element used for index `i`; -1 for zero.
template<Padding padding>
std::int64_t element_of(std::int64_t i, const SampledAxis& axis) {
  if (i >= 0 && i < axis.size) return i;
  if (padding == Padding::zeros) return -1;
  if (padding == Padding::border) return std::clamp<std::int64_t>(i, 0, axis.size - 1);
  const double folded = std::nearbyint(reflect(static_cast<double>(i), axis));
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(folded), 0, axis.size - 1);
}

/// Cubic weights of elements at a distance of 1 to 2, and of nearer ones.
double far_weight(double d) {
  constexpr double a = -0.75;
  return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
}
double near_weight(double d) {
  constexpr double a = -0.75;
  return ((a + 2) * d - (a + 3)) * d * d + 1;
}

template<Mode mode, Padding padding, typename Real, typename Index>
void find_taps(const SampledAxis& axis, const Real* grid, std::int64_t step, std::int64_t count,
               const AxisTaps<Index, Real>& taps) {
  for (std::int64_t i = 0; i < count; ++i) {
    double x = denormalize(static_cast<double>(grid[i * step]), axis);
    if (mode == Mode::nearest) x = std::nearbyint(x);
    x = inside<mode, padding>(x, axis);
    const auto put = [&](std::int64_t k, std::int64_t index, double weight) {
      const std::int64_t element = element_of<padding>(index, axis);
      taps.indices[k * taps.stride + i] = static_cast<Index>(element < 0 ? 0 : element);
      taps.weights[k * taps.stride + i] = element < 0 ? Real{0} : static_cast<Real>(weight);
    };
    if constexpr (mode == Mode::nearest) {
      put(0, static_cast<std::int64_t>(std::nearbyint(x)), 1);
      continue;
    }
    // std::floor for a number of this size, without a call.
    auto below = static_cast<std::int64_t>(x);
    below -= static_cast<double>(below) > x ? 1 : 0;
    const double t = x - static_cast<double>(below);
    if constexpr (mode == Mode::linear) {
      put(0, below, 1 - t);
      put(1, below + 1, t);
    } else {
      put(0, below - 1, far_weight(t + 1));
      put(1, below, near_weight(t));
      put(2, below + 1, near_weight(1 - t));
      put(3, below + 2, far_weight(2 - t));
    }
  }
}

template<Mode mode, typename Real, typename Index>
void find_taps_of(Padding padding, const SampledAxis& axis, const Real* grid, std::int64_t step,
                  std::int64_t count, const AxisTaps<Index, Real>& taps) {
  switch (padding) {
  case Padding::zeros:
    return find_taps<mode, Padding::zeros>(axis, grid, step, count, taps);
  case Padding::border:
    return find_taps<mode, Padding::border>(axis, grid, step, count, taps);
  case Padding::reflection:
    return find_taps<mode, Padding::reflection>(axis, grid, step, count, taps);
  }
}

} // namespace

GridSampling GridSampling::read(const AttributeMap& attributes) {
  const std::string mode = attributes.string("mode", "linear"),
                    padding = attributes.string("padding_mode", "zeros");
  check(mode == "nearest" || mode == "linear" || mode == "cubic", ErrorCode::invalid_argument,
        "mode is \"{}\", expected nearest, linear or cubic", mode);
  check(padding == "zeros" || padding == "border" || padding == "reflection", ErrorCode::invalid_argument,
        "padding_mode is \"{}\", expected zeros, border or reflection", padding);
  return {mode == "nearest"  ? Mode::nearest
          : mode == "linear" ? Mode::linear
                             : Mode::cubic,
          padding == "zeros"    ? Padding::zeros
          : padding == "border" ? Padding::border
                                : Padding::reflection,
          attributes.flag("align_corners")};
}

template<typename Real, typename Index>
void find_axis_taps(const GridSampling& sampling, const Real* grid, std::int64_t step, std::int64_t count,
                    std::int64_t size, const AxisTaps<Index, Real>& taps) {
  const SampledAxis axis(sampling, size);
  switch (sampling.mode) {
  case Mode::nearest:
    return find_taps_of<Mode::nearest>(sampling.padding, axis, grid, step, count, taps);
  case Mode::linear:
    return find_taps_of<Mode::linear>(sampling.padding, axis, grid, step, count, taps);
  case Mode::cubic:
    return find_taps_of<Mode::cubic>(sampling.padding, axis, grid, step, count, taps);
  }
}

template void find_axis_taps(const GridSampling&, const double*, std::int64_t, std::int64_t, std::int64_t,
                             const AxisTaps<std::int64_t, double>&);
template void find_axis_taps(const GridSampling&, const float*, std::int64_t, std::int64_t, std::int64_t,
                             const AxisTaps<std::int32_t, float>&);

} // namespace lanner::ops
