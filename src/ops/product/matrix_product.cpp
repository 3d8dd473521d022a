#include "ops/product/matrix_product.h"

#include "base/check.h"
#include "base/limits/counted_vector.h"
#include "ops/table/arguments.h"

namespace lanner::ops {

Type infer_product(const Type& a, const Type& b, DType dtype) {
  if (!a.ranked() || !b.ranked()) return Type::unranked(dtype);
  check(a.rank() >= 1 && b.rank() >= 1, ErrorCode::invalid_argument,
        "operands are {} and {}, expected rank 1 or more", a.to_string(), b.to_string());
  Dims left = a.dims(), right = b.dims();
  if (a.rank() == 1) left.insert(left.begin(), Dim(1));
  if (b.rank() == 1) right.push_back(Dim(1));
  require_equal(right[right.size() - 2], left.back(), "the right operand's row count");
  Dims dims = broadcast_dims(Dims(left.begin(), left.end() - 2), Dims(right.begin(), right.end() - 2));
  if (a.rank() > 1) dims.push_back(left[left.size() - 2]);
  if (b.rank() > 1) dims.push_back(right.back());
  return Type(dtype, std::move(dims));
}

// Starts of the matrices of an operand with stacked sizes `own`, for each matrix of a result with stacked
// sizes `all`.
static CountedVector<std::int64_t> matrix_starts(const Shape& all, const Shape& own, std::int64_t matrix) {
  CountedVector<std::int64_t> starts(static_cast<std::size_t>(all.elements()), 0);
  const std::vector<std::int64_t> dense = dense_strides(own);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    auto rest = static_cast<std::int64_t>(i);
    for (std::size_t d = 0; d < own.rank(); ++d) {
      const std::size_t axis = all.rank() - 1 - d, own_axis = own.rank() - 1 - d;
      if (own[own_axis] != 1) starts[i] += rest % all[axis] * dense[own_axis] * matrix;
      rest /= all[axis];
    }
  }
  return starts;
}

MatrixProduct MatrixProduct::read(const Shape& a, const Shape& b) {
  MatrixProduct product;
  product.rows = a.rank() > 1 ? a[a.rank() - 2] : 1;
  product.depth = a.back();
  product.columns = b.rank() > 1 ? b.back() : 1;
  const auto stack = [](const Shape& shape) {
    return Shape(std::span(shape.dims()).first(shape.rank() < 2 ? 0 : shape.rank() - 2));
  };
  const Shape own[] = {stack(a), stack(b)};
  const Shape all = broadcast(own);
  product.a_starts = matrix_starts(all, own[0], product.rows * product.depth);
  product.b_starts = matrix_starts(all, own[1], product.depth * product.columns);
  return product;
}

MatrixProduct MatrixProduct::single(std::int64_t rows, std::int64_t depth, std::int64_t columns) {
  return {rows, depth, columns, {0}, {0}};
}

} // namespace lanner::ops
