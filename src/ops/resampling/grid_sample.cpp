#include <array>

#include "base/check.h"
#include "ops/convolution/window.h"
#include "ops/definition/rows.h"
#include "ops/definition/visit.h"
#include "ops/resampling/grid_taps.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

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

/// Offsets and weights of the elements of one sample of a plane.
struct PlaneTaps {
  std::vector<std::int64_t> offsets;
  std::vector<double> weights;
};

/// The taps of the sample at `position`, whose first coordinate is the innermost axis.
static PlaneTaps taps_at(const GridSampling& sampling, const double* position,
                         std::span<const std::int64_t> sizes) {
  PlaneTaps taps{{0}, {1}};
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    std::array<std::int64_t, 4> indices;
    std::array<double, 4> weights;
    find_axis_taps(sampling, position + (sizes.size() - 1 - d), 1, 1, sizes[d],
                   AxisTaps<std::int64_t, double>{indices.data(), weights.data(), 1});
    PlaneTaps next;
    for (std::size_t i = 0; i < taps.offsets.size(); ++i) {
      for (std::size_t k = 0; k < static_cast<std::size_t>(sampling.taps()); ++k) {
        if (weights[k] == 0) continue;
        next.offsets.push_back(taps.offsets[i] * sizes[d] + indices[k]);
        next.weights.push_back(taps.weights[i] * weights[k]);
      }
    }
    taps = std::move(next);
  }
  return taps;
}

static void run_grid_sample(KernelContext& context) {
  WideOutput y(context.output(0), DType::f64);
  const Tensor x = to_dtype(context.input(0), DType::f64), grid = to_dtype(context.input(1), DType::f64);
  const GridSampling sampling = GridSampling::read(context.attributes());
  const std::vector<std::int64_t> sizes(x.shape().begin() + 2, x.shape().end());
  const std::int64_t image = Window::product_of(sizes), channels = x.shape()[1];
  const auto rank = static_cast<std::int64_t>(sizes.size());
  const std::int64_t points = x.shape()[0] == 0 ? 0 : grid.elements() / rank / x.shape()[0];
  check(image > 0 || context.output(0).elements() == 0, ErrorCode::invalid_argument,
        "an empty image has no samples");
  for_each_row(context.threads(), x.shape()[0] * points, [&](std::int64_t row) {
    const std::int64_t n = row / points, point = row % points;
    const PlaneTaps taps = taps_at(sampling, grid.as<double>().data() + row * rank, sizes);
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
    std::vector<double> position(rank + 1, 1.0); // Homogeneous, innermost axis first.
    for (std::size_t d = 0; d < rank; ++d) {
      const auto i = static_cast<double>(index[rank - d]), length = static_cast<double>(sizes[rank - d]);
      position[d] = !align ? (2 * i + 1) / length - 1 : length > 1 ? 2 * i / (length - 1) - 1 : 0;
    }
    for (std::size_t r = 0; r < rank; ++r) {
      const std::size_t row = (static_cast<std::size_t>(index[0]) * rank + r) * (rank + 1);
      double sum = 0;
      for (std::size_t k = 0; k <= rank; ++k) sum += theta[row + k] * position[k];
      y.as<double>()[at++] = sum;
    }
  } while (next_index(index, sizes));
  y.store();
}

std::vector<OpDef> grid_sample_ops() {
  OpDef sample{
      .name = "grid_sample",
      .min_inputs = 2,
      .max_inputs = 2,
      .operands = {{"x", dtypes::numbers, 0, "N _ D ..."}, {"grid", dtypes::floats, 0, "N _ ... _"}},
      .attributes = {flag_attribute("align_corners", false),
                     string_attribute("mode", "linear", one_of({"nearest", "linear", "cubic"})),
                     string_attribute("padding_mode", "zeros", one_of({"zeros", "border", "reflection"}))},
      .infer = infer_grid_sample,
      .reference = run_grid_sample,
      .expand = {},
      .traits = {.pattern = Pattern::sampling, .discontinuous = true, .accumulates = true}};
  OpDef grid{.name = "affine_grid",
             .min_inputs = 2,
             .max_inputs = 2,
             .operands = {{"theta", dtypes::floats, 0, "_ _ _"}, list_of_counts("size")},
             .attributes = {flag_attribute("align_corners", false)},
             .infer = infer_affine_grid,
             .reference = run_affine_grid,
             .expand = {},
             .traits = {.pattern = Pattern::composite, .accumulates = true}};
  return {std::move(sample), std::move(grid)};
}

} // namespace lanner::ops
