#include <cmath>

#include "base/check.h"
#include "ops/definition/rows.h"
#include "ops/definition/visit.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

static void infer_det(InferContext& context) {
  const Type& x = context.input(0);
  if (!x.ranked()) return infer_like(context);
  check(x.rank() >= 2, ErrorCode::invalid_argument, "input is {}, expected rank 2 or more", x.to_string());
  const Dims& dims = x.dims();
  require_equal(dims[x.rank() - 1], dims[x.rank() - 2], "the number of columns");
  context.set_output(0, x.with_dims(Dims(dims.begin(), dims.end() - 2)));
}

/// Determinant of a square row-major matrix, by elimination with row pivoting; overwrites the matrix.
static double determinant(std::span<double> matrix, std::size_t size) {
  double result = 1;
  const auto at = [&](std::size_t row, std::size_t column) -> double& { return matrix[row * size + column]; };
  for (std::size_t k = 0; k < size; ++k) {
    std::size_t pivot = k;
    for (std::size_t row = k + 1; row < size; ++row)
      if (std::abs(at(row, k)) > std::abs(at(pivot, k))) pivot = row;
    if (at(pivot, k) == 0) return 0;
    if (pivot != k) {
      for (std::size_t column = k; column < size; ++column) std::swap(at(pivot, column), at(k, column));
      result = -result;
    }
    result *= at(k, k);
    for (std::size_t row = k + 1; row < size; ++row) {
      const double factor = at(row, k) / at(k, k);
      for (std::size_t column = k + 1; column < size; ++column) at(row, column) -= factor * at(k, column);
    }
  }
  return result;
}

static void run_det(KernelContext& context) {
  WideOutput y(context.output(0), DType::f64);
  Tensor work = Tensor::allocate(DType::f64, context.input(0).shape());
  copy_tensor(context.input(0), work);
  const auto size = static_cast<std::size_t>(work.shape().back());
  const auto results = y.as<double>();
  for_each_row(context.threads(), static_cast<std::int64_t>(results.size()), [&](std::int64_t i) {
    const auto matrix = static_cast<std::size_t>(i);
    results[matrix] = determinant(work.as<double>().subspan(matrix * size * size, size * size), size);
  });
  y.store();
}

std::vector<OpDef> det_ops() {
  return {OpDef{.name = "det",
                .min_inputs = 1,
                .max_inputs = 1,
                .operands = {{"x", dtypes::floats, 0, "... N N"}},
                .attributes = {},
                .infer = infer_det,
                .reference = run_det,
                .expand = {},
                .traits = {.pattern = Pattern::composite, .accumulates = true}}};
}

} // namespace lanner::ops
