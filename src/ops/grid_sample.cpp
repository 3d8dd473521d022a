#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "ops/arguments.h"
#include "ops/rows.h"
#include "ops/table.h"
#include "ops/visit.h"
#include "ops/window.h"

namespace lanner::ops {

// grid_sample, and affine_grid, which makes the grid.

static void infer_grid_sample(InferContext& context) {
  const Type &x = context.input(0), &grid = context.input(1);
  if (!x.ranked() || !grid.ranked()) return context.set_output(0, Type::unranked(x.dtype()));
  check(x.rank() >= 3 && x.rank() <= 10 && grid.rank() == x.rank(), ErrorCode::invalid_argument,
        "input {} and grid {}: expected equal ranks from 3 to 10", x.to_string(), grid.to_string());
  require_equal(grid.dims().back(), static_cast<std::int64_t>(x.rank() - 2), "the grid's last size");
  require_equal(grid.dims()[0], x.dims()[0], "the grid's batch size");
  Dims dims{x.dims()[0], x.dims()[1]};
  dims.insert(dims.end(), grid.dims().begin() + 1, grid.dims().end() - 1);
  context.set_output(0, x.with_dims(std::move(dims)));
}

struct Sampler {
  enum class Mode { nearest, linear, cubic } mode;
  enum class Padding { zeros, border, reflection } padding;
  bool align_corners;

  static Sampler read(const AttributeMap& attributes);
  double denormalize(double x, std::int64_t size) const;
  double inside(double x, std::int64_t size) const;
  std::int64_t place(std::int64_t i, std::int64_t size) const;
};

Sampler Sampler::read(const AttributeMap& attributes) {
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

double Sampler::denormalize(double x, std::int64_t size) const {
  const auto length = static_cast<double>(size);
  return align_corners ? (x + 1) / 2 * (length - 1) : ((x + 1) * length - 1) / 2;
}

static double reflect(double x, double least, double most) {
  const double range = most - least;
  if (range <= 0) return least;
  const double folded = std::fmod(std::abs(x - least), 2 * range);
  return least + (folded <= range ? folded : 2 * range - folded);
}

/// `x` moved to where the padding takes it from.
double Sampler::inside(double x, std::int64_t size) const {
  if (!std::isfinite(x)) x = -1e6; // A place that is no number lies outside.
  const double last = static_cast<double>(size - 1);
  const double least = align_corners ? 0 : -0.5, most = align_corners ? last : last + 0.5;
  const bool outside = x < least || x > most;
  if (padding == Padding::border && outside) return std::clamp(x, 0.0, last);
  if (padding == Padding::reflection && outside) return reflect(x, least, most);
  return std::clamp(x, -1e9, 1e9);
}

/// The element that stands for index `i`; -1 for a zero.
std::int64_t Sampler::place(std::int64_t i, std::int64_t size) const {
  if (i >= 0 && i < size) return i;
  if (padding == Padding::zeros) return -1;
  if (padding == Padding::border) return std::clamp<std::int64_t>(i, 0, size - 1);
  const double least = align_corners ? 0 : -0.5, most = static_cast<double>(size) - (align_corners ? 1 : 0.5);
  return std::clamp<std::int64_t>(
      static_cast<std::int64_t>(std::nearbyint(reflect(static_cast<double>(i), least, most))), 0, size - 1);
}

/// The elements along one axis that make a sample.
struct AxisTaps {
  int count = 0;
  std::array<std::int64_t, 4> places{};
  std::array<double, 4> weights{};
};

static AxisTaps axis_taps(const Sampler& sampler, double grid, std::int64_t size) {
  double x = sampler.denormalize(grid, size);
  if (sampler.mode == Sampler::Mode::nearest) x = std::nearbyint(x);
  x = sampler.inside(x, size);
  AxisTaps taps;
  const auto add = [&](double index, double weight) {
    taps.places[static_cast<std::size_t>(taps.count)] = sampler.place(static_cast<std::int64_t>(index), size);
    taps.weights[static_cast<std::size_t>(taps.count++)] = weight;
  };
  const double below = std::floor(x), t = x - below;
  if (sampler.mode == Sampler::Mode::nearest) {
    add(std::nearbyint(x), 1);
  } else if (sampler.mode == Sampler::Mode::linear) {
    add(below, 1 - t);
    add(below + 1, t);
  } else {
    constexpr double a = -0.75;
    const auto near = [](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
    const auto far = [](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
    add(below - 1, far(t + 1));
    add(below, near(t));
    add(below + 1, near(1 - t));
    add(below + 2, far(2 - t));
  }
  return taps;
}

/// Offsets and weights of the elements that make one sample of a plane.
struct PlaneTaps {
  std::vector<std::int64_t> offsets;
  std::vector<double> weights;
};

static void combine_taps(std::span<const AxisTaps> axes, std::span<const std::int64_t> sizes,
                         PlaneTaps& taps) {
  taps.offsets.assign(1, 0);
  taps.weights.assign(1, 1);
  for (std::size_t d = 0; d < axes.size(); ++d) {
    PlaneTaps next;
    for (std::size_t i = 0; i < taps.offsets.size(); ++i) {
      for (std::size_t k = 0; k < static_cast<std::size_t>(axes[d].count); ++k) {
        if (axes[d].places[k] < 0 || axes[d].weights[k] == 0) continue;
        next.offsets.push_back(taps.offsets[i] * sizes[d] + axes[d].places[k]);
        next.weights.push_back(taps.weights[i] * axes[d].weights[k]);
      }
    }
    taps = std::move(next);
  }
}

static void run_grid_sample(KernelContext& context) {
  WideOutput y(context.output(0), DType::f64);
  const Tensor x = to_dtype(context.input(0), DType::f64), grid = to_dtype(context.input(1), DType::f64);
  const Sampler sampler = Sampler::read(context.attributes());
  const std::vector<std::int64_t> sizes(x.shape().begin() + 2, x.shape().end());
  const std::int64_t image = Window::product_of(sizes), channels = x.shape()[1];
  const auto rank = static_cast<std::int64_t>(sizes.size());
  const std::int64_t points = x.shape()[0] == 0 ? 0 : grid.elements() / rank / x.shape()[0];
  check(image > 0 || context.output(0).elements() == 0, ErrorCode::invalid_argument,
        "an empty image has no samples");
  for_each_row(context.threads(), x.shape()[0] * points, [&](std::int64_t row) {
    const std::int64_t n = row / points, point = row % points;
    std::vector<AxisTaps> axes(sizes.size());
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      // A grid names the innermost axis first.
      const auto at = static_cast<std::size_t>((row + 1) * rank - 1) - d;
      axes[d] = axis_taps(sampler, grid.as<double>()[at], sizes[d]);
    }
    PlaneTaps taps;
    combine_taps(axes, sizes, taps);
    for (std::int64_t c = n * channels; c < (n + 1) * channels; ++c) {
      double sum = 0;
      for (std::size_t i = 0; i < taps.offsets.size(); ++i)
        sum += taps.weights[i] * x.as<double>()[static_cast<std::size_t>(c * image + taps.offsets[i])];
      y.as<double>()[static_cast<std::size_t>(c * points + point)] = sum;
    }
  });
  y.store();
}

static void infer_affine_grid(InferContext& context) {
  const Type& theta = context.input(0);
  require_rank(context, 0, 3);
  const auto size = known_elements(context, 1);
  if (!size) return context.set_output(0, Type::unranked(theta.dtype()));
  check(size->size() == 4 || size->size() == 5, ErrorCode::invalid_argument,
        "size has {} values, expected 4 or 5", size->size());
  const auto rank = static_cast<std::int64_t>(size->size() - 2);
  if (theta.ranked()) {
    require_equal(theta.dims()[0], size->front(), "theta's batch size");
    require_equal(theta.dims()[1], rank, "theta's row count");
    require_equal(theta.dims()[2], rank + 1, "theta's column count");
  }
  Dims dims{size->front()};
  dims.insert(dims.end(), size->begin() + 2, size->end());
  dims.push_back(rank);
  context.set_output(0, Type(theta.dtype(), std::move(dims)));
}

static void run_affine_grid(KernelContext& context) {
  WideOutput y(context.output(0), DType::f64);
  const std::vector<double> theta = doubles_of(context.input(0));
  const Shape& shape = context.output(0).shape();
  const bool align = context.attributes().flag("align_corners");
  const std::size_t rank = shape.rank() - 2;
  if (context.output(0).elements() == 0) return;
  std::vector<std::int64_t> index(rank + 1, 0);
  const std::span<const std::int64_t> sizes = std::span(shape.dims()).first(rank + 1);
  std::size_t at = 0;
  do {
    std::vector<double> place(rank + 1, 1.0); // Homogeneous, innermost axis first.
    for (std::size_t d = 0; d < rank; ++d) {
      const auto i = static_cast<double>(index[rank - d]), length = static_cast<double>(sizes[rank - d]);
      place[d] = !align ? (2 * i + 1) / length - 1 : length > 1 ? 2 * i / (length - 1) - 1 : 0;
    }
    for (std::size_t r = 0; r < rank; ++r) {
      const std::size_t row = (static_cast<std::size_t>(index[0]) * rank + r) * (rank + 1);
      double sum = 0;
      for (std::size_t k = 0; k <= rank; ++k) sum += theta[row + k] * place[k];
      y.as<double>()[at++] = sum;
    }
  } while (next_index(index, sizes));
  y.store();
}

std::vector<OpDef> grid_sample_ops() {
  OpDef sample{.name = "grid_sample",
               .min_inputs = 2,
               .max_inputs = 2,
               .attributes = {integer_attribute("align_corners", 0), string_attribute("mode", "linear"),
                              string_attribute("padding_mode", "zeros")},
               .infer = infer_grid_sample,
               .reference = run_grid_sample,
               .expand = {}};
  OpDef grid{.name = "affine_grid",
             .min_inputs = 2,
             .max_inputs = 2,
             .attributes = {integer_attribute("align_corners", 0)},
             .infer = infer_affine_grid,
             .reference = run_affine_grid,
             .expand = {}};
  return {std::move(sample), std::move(grid)};
}

} // namespace lanner::ops
