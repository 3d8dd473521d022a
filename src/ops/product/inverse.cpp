#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "ops/definition/rows.h"
#include "ops/definition/visit.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

static void infer_inverse(InferContext& context) {
  const Type& x = context.input(0);
  infer_like(context);
  if (!x.ranked()) return;
  check(x.rank() >= 2, ErrorCode::invalid_argument, "input is {}, expected rank 2 or more", x.to_string());
  require_equal(x.dims()[x.rank() - 1], x.dims()[x.rank() - 2], "the number of columns");
}

/// Gauss-Jordan elimination with row pivoting: `matrix` becomes the identity while `inverse`, which starts as
/// the identity, becomes its inverse. Infinite for a singular matrix.
static void invert(std::span<double> matrix, std::span<double> inverse, std::size_t size) {
  const auto row_of = [&](std::span<double> of, std::size_t row) { return of.subspan(row * size, size); };
  for (std::size_t k = 0; k < size; ++k) {
    std::size_t pivot = k;
    for (std::size_t row = k + 1; row < size; ++row)
      if (std::abs(matrix[row * size + k]) > std::abs(matrix[pivot * size + k])) pivot = row;
    for (const auto of : {matrix, inverse}) {
      const auto above = row_of(of, k);
      if (pivot != k) std::ranges::swap_ranges(above, row_of(of, pivot));
    }
    const double divisor = matrix[k * size + k];
    for (const auto of : {matrix, inverse})
      for (double& element : row_of(of, k)) element /= divisor;
    for (std::size_t row = 0; row < size; ++row) {
      const double factor = matrix[row * size + k];
      if (row == k || factor == 0) continue;
      for (const auto of : {matrix, inverse})
        for (std::size_t column = 0; column < size; ++column)
          of[row * size + column] -= factor * of[k * size + column];
    }
  }
}

static void run_inverse(KernelContext& context) {
  WideOutput y(context.output(0), DType::f64);
  Tensor work = Tensor::allocate(DType::f64, context.input(0).shape());
  copy_tensor(context.input(0), work);
  const auto size = static_cast<std::size_t>(work.shape().back()), area = size * size;
  const std::int64_t count = area == 0 ? 0 : work.elements() / static_cast<std::int64_t>(area);
  for_each_row(context.threads(), count, [&](std::int64_t i) {
    const std::size_t first = static_cast<std::size_t>(i) * area;
    const auto inverse = y.as<double>().subspan(first, area);
    for (std::size_t k = 0; k < area; ++k) inverse[k] = k / size == k % size ? 1 : 0;
    invert(work.as<double>().subspan(first, area), inverse, size);
  });
  y.store();
}

std::vector<OpDef> inverse_ops() {
  return {OpDef{.name = "ms.inverse",
                .min_inputs = 1,
                .max_inputs = 1,
                .operands = {{"x", dtypes::floats, 0, "... N N"}},
                .attributes = {},
                .infer = infer_inverse,
                .reference = run_inverse,
                .expand = {},
                .traits = {.pattern = Pattern::composite, .accumulates = true}}};
}

} // namespace lanner::ops
