#include "base/check.h"
#include "ops/definition/visit.h"
#include "ops/product/matrix_product.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

using ProductTypes = Types<float, double, std::int32_t, std::int64_t, std::uint32_t, std::uint64_t>;

static constexpr DTypeSet product_types = dtypes::floats | dtypes::wide_integers;

static DType product_dtype(DType type) {
  return is_float(type) ? compute_dtype(type) : type;
}

static void infer_matmul(InferContext& context) {
  context.set_output(0, infer_product(context.input(0), context.input(1), context.input(0).dtype()));
}

static void run_matmul(KernelContext& context) {
  const DType type = product_dtype(context.output(0).dtype());
  WideOutput y(context.output(0), type);
  const Tensor a = to_dtype(context.input(0), type), b = to_dtype(context.input(1), type);
  const auto product = MatrixProduct::read(a.shape(), b.shape());
  visit_dtype(type, ProductTypes{}, [&]<typename T>(Tag<T>) {
    multiply<T>(product, a.as<T>(), b.as<T>(), y.as<T>(), context.threads());
  });
  y.store();
}

static void infer_gemm(InferContext& context) {
  const Type &a = context.input(0), &b = context.input(1);
  if (!a.ranked() || !b.ranked()) return context.set_output(0, Type::unranked(a.dtype()));
  require_rank(context, 0, 2);
  require_rank(context, 1, 2);
  const std::size_t a_row = context.attributes().flag("transA") ? 1 : 0;
  const std::size_t b_row = context.attributes().flag("transB") ? 1 : 0;
  require_equal(b.dims()[b_row], a.dims()[1 - a_row], "the inner size of the second matrix");
  const Dims dims{a.dims()[a_row], b.dims()[1 - b_row]};
  if (context.has(2) && context.input(2).ranked()) {
    const Dims& c = context.input(2).dims();
    check(c.size() <= 2, ErrorCode::invalid_argument, "C is {}, expected rank 2 or less",
          context.input(2).to_string());
    const Dims all = broadcast_dims(c, dims);
    for (std::size_t i : {0, 1}) require_equal(all[i], dims[i], "a size of C");
  }
  context.set_output(0, Type(a.dtype(), dims));
}

template<typename T>
static Tensor transposed(const Tensor& matrix) {
  const std::int64_t rows = matrix.shape()[0], columns = matrix.shape()[1];
  Tensor result = Tensor::allocate(matrix.dtype(), {columns, rows});
  const T* from = matrix.as<T>().data();
  T* to = result.as<T>().data();
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
  return result;
}

// y = alpha * y + beta * c, where c broadcasts to y. With integers the factors are applied in double.
template<typename T>
static void scale_and_add(const AttributeMap& attributes, const Tensor* c, const Shape& shape,
                          std::span<T> y) {
  const double alpha = attributes.real("alpha", 1), beta = attributes.real("beta", 1);
  if (alpha != 1)
    for (T& value : y) value = static_cast<T>(alpha * static_cast<double>(value));
  if (!c || beta == 0) return;
  const std::int64_t columns = shape[1];
  const std::int64_t c_rows = c->rank() == 2 ? c->shape()[0] : 1,
                     c_columns = c->rank() >= 1 ? c->shape().back() : 1;
  const T* values = c->as<T>().data();
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const T value = values[(c_rows == 1 ? 0 : i) * c_columns + (c_columns == 1 ? 0 : j)];
      T& out = y[static_cast<std::size_t>(i * columns + j)];
      out = multiply_add(out, beta == 1 ? value : static_cast<T>(beta * static_cast<double>(value)), T{1});
    }
  }
}

static void run_gemm(KernelContext& context) {
  const DType type = product_dtype(context.output(0).dtype());
  WideOutput y(context.output(0), type);
  Tensor a = to_dtype(context.input(0), type), b = to_dtype(context.input(1), type);
  visit_dtype(type, ProductTypes{}, [&]<typename T>(Tag<T>) {
    if (context.attributes().flag("transA")) a = transposed<T>(a);
    if (context.attributes().flag("transB")) b = transposed<T>(b);
    const auto product = MatrixProduct::single(a.shape()[0], a.shape()[1], b.shape()[1]);
    multiply<T>(product, std::as_const(a).as<T>(), std::as_const(b).as<T>(), y.as<T>(), context.threads());
    const Tensor c = context.has(2) ? to_dtype(context.input(2), type) : Tensor();
    scale_and_add<T>(context.attributes(), context.has(2) ? &c : nullptr, context.output(0).shape(),
                     y.as<T>());
  });
  y.store();
}

static std::optional<SummedAxis> summed_depth(const Node& node) {
  if (!has_rank(node.input(0), 1) || !has_rank(node.input(1), 2)) return std::nullopt;
  const Type &a = node.input(0)->type, &b = node.input(1)->type;
  return SummedAxis{a.rank() - 1, b.dims()[b.rank() - 2]};
}

static std::optional<SummedAxis> summed_gemm_depth(const Node& node) {
  if (!has_rank(node.input(0), 2) || !has_rank(node.input(1), 2)) return std::nullopt;
  const bool a_turned = node.attributes.flag("transA"), b_turned = node.attributes.flag("transB");
  return SummedAxis{a_turned ? 0U : 1U, node.input(1)->type.dims()[b_turned ? 1 : 0]};
}

static std::uint64_t flops_along(const Node& node, std::size_t axis) {
  return 2 * element_count(node.output()) * static_cast<std::uint64_t>(node.input(0)->type.shape()[axis]);
}

static std::uint64_t count_flops(const Node& node) {
  const std::size_t rank = node.input(0)->type.rank();
  return rank == 0 ? 0 : flops_along(node, rank - 1);
}

static std::uint64_t count_gemm_flops(const Node& node) {
  const std::size_t rank = node.input(0)->type.rank();
  if (rank == 0) return 0;
  return flops_along(node, rank == 2 && node.attributes.flag("transA") ? 0 : rank - 1);
}

/// Rows of the first operand, with the whole second one, or with its parts where both are stacks of matrices.
static bool splits_matrices(const Split& split) {
  const Value *a = split.node.input(0), *b = split.node.input(1);
  if (!a || !b || !split.parts[0] || a->type.rank() < 2) return false;
  const std::size_t rank = a->type.rank();
  if (split.parts[1]) return rank == b->type.rank() && rank > 2;
  if (!split.shared[1] || b->type.rank() < 2) return false;
  return b->type.rank() < rank || (b->type.rank() == rank && (rank == 2 || b->type.shape()[0] == 1));
}

std::vector<OpDef> matmul_ops() {
  OpDef matmul{.name = "matmul",
               .min_inputs = 2,
               .max_inputs = 2,
               .operands = same_types(product_types, {"a", "b"}),
               .attributes = {},
               .infer = infer_matmul,
               .reference = run_matmul,
               .expand = {},
               .traits = {.pattern = Pattern::contraction,
                          .accumulates = true,
                          .split = splits_matrices,
                          .summed = summed_depth,
                          .flops = count_flops}};
  OpDef gemm{.name = "gemm",
             .min_inputs = 2,
             .max_inputs = 3,
             .operands = {{"a", product_types, 'T', "_ _"},
                          {"b", product_types, 'T', "_ _"},
                          {"c", product_types, 'T'}},
             .attributes = {real_attribute("alpha", 1, finite()), real_attribute("beta", 1, finite()),
                            flag_attribute("transA", false), flag_attribute("transB", false)},
             .infer = infer_gemm,
             .reference = run_gemm,
             .expand = {},
             .traits = {.pattern = Pattern::contraction,
                        .accumulates = true,
                        .summed = summed_gemm_depth,
                        .flops = count_gemm_flops}};
  return {std::move(matmul), std::move(gemm)};
}

} // namespace lanner::ops
