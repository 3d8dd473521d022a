#include <algorithm>

#include "base/check.h"
#include "ops/convolution/convolution.h"
#include "ops/definition/visit.h"
#include "ops/elementwise/quantization.h"
#include "ops/product/matrix_product.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

// matmul_integer, q_linear_matmul, conv_integer and q_linear_conv. Products of 8-bit integers are summed in
// double, which is exact up to 2^53.

/// `tensor` less its zero point, in double. The zero point has one value, or one per index of `axis`.
static Tensor shifted(const Tensor& tensor, const Tensor* zero_point, std::size_t axis) {
  Tensor result = Tensor::allocate(DType::f64, tensor.shape());
  copy_tensor(tensor, result);
  if (!zero_point) return result;
  const std::vector<double> zero = doubles_of(*zero_point);
  const AxisView view = tensor.rank() == 0 ? AxisView{} : view_axis(tensor.shape(), axis);
  const auto values = result.as<double>();
  // A stack of matrices may have a zero point for each row or column of each matrix.
  const std::size_t size = static_cast<std::size_t>(view.size);
  check(zero.size() == 1 || zero.size() == size || zero.size() == size * static_cast<std::size_t>(view.outer),
        ErrorCode::invalid_argument, "the zero point has {} values, expected 1 or {}", zero.size(), size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t index = i / static_cast<std::size_t>(view.inner);
    values[i] -= zero[index % zero.size()];
  }
  return result;
}

static const Tensor* optional_input(const KernelContext& context, std::size_t i) {
  return context.has(i) ? &context.input(i) : nullptr;
}

static std::size_t row_axis(const Tensor& matrix) {
  return matrix.rank() < 2 ? 0 : matrix.rank() - 2;
}
static std::size_t column_axis(const Tensor& matrix) {
  return matrix.rank() == 0 ? 0 : matrix.rank() - 1;
}

// One zero point for all rows of a vector on the left; a vector has no axis of rows.
static Tensor shifted_left(const Tensor& a, const Tensor* zero_point) {
  return shifted(a, zero_point, row_axis(a));
}

// Columns are the innermost axis: the zero point of column j repeats for every row.
static Tensor shifted_right(const Tensor& b, const Tensor* zero_point) {
  if (b.rank() <= 2 || !zero_point || zero_point->elements() == 1 ||
      zero_point->elements() == b.shape().back())
    return shifted(b, zero_point, column_axis(b));
  Tensor result = Tensor::allocate(DType::f64, b.shape());
  copy_tensor(b, result);
  const std::vector<double> zero = doubles_of(*zero_point);
  const std::int64_t columns = b.shape().back(), matrix = b.shape()[b.rank() - 2] * columns;
  check(matrix == 0 || static_cast<std::int64_t>(zero.size()) == b.elements() / matrix * columns,
        ErrorCode::invalid_argument, "the zero point has shape {}, which does not fit {}",
        zero_point->shape().to_string(), b.shape().to_string());
  for (std::int64_t i = 0; i < b.elements(); ++i)
    result.as<double>()[static_cast<std::size_t>(i)] -=
        zero[static_cast<std::size_t>(i / matrix * columns + i % columns)];
  return result;
}

static Tensor product_of(const Tensor& a, const Tensor& b, const Shape& shape, int threads) {
  Tensor sums = Tensor::allocate(DType::f64, shape);
  multiply<double>(MatrixProduct::read(a.shape(), b.shape()), a.as<double>(), b.as<double>(),
                   sums.as<double>(), threads);
  return sums;
}

static void infer_matmul_integer(InferContext& context) {
  context.set_output(0, infer_product(context.input(0), context.input(1), DType::i32));
}

static void run_matmul_integer(KernelContext& context) {
  Tensor& y = context.output(0);
  const Tensor a = shifted_left(context.input(0), optional_input(context, 2));
  const Tensor b = shifted_right(context.input(1), optional_input(context, 3));
  copy_tensor(product_of(a, b, y.shape(), context.threads()), y);
}

static void infer_q_linear_matmul(InferContext& context) {
  context.set_output(0, infer_product(context.input(0), context.input(3), context.input(7).dtype()));
}

/// y = quantized(sum * scale of its row and column / y_scale).
static void requantize(std::span<const double> sums, const std::function<double(std::size_t)>& scale,
                       double zero_point, Tensor& y) {
  Tensor stored = Tensor::allocate(DType::f32, y.shape());
  const auto range = stored_range(y.dtype());
  for (std::size_t i = 0; i < sums.size(); ++i)
    stored.as<float>()[i] = static_cast<float>(quantized(sums[i] * scale(i), zero_point, range));
  copy_tensor(stored, y);
}

/// One scale, or one for each of `places`.
static std::vector<double> scales_of(const Tensor& tensor, std::int64_t places, std::string_view what) {
  std::vector<double> scales = doubles_of(tensor);
  const auto count = static_cast<std::int64_t>(scales.size());
  check(count > 0 && (count == 1 || count % places == 0), ErrorCode::invalid_argument,
        "{} has shape {}, expected one value or {}", what, tensor.shape().to_string(), places);
  return scales;
}

static void run_q_linear_matmul(KernelContext& context) {
  Tensor& y = context.output(0);
  const Tensor &a = context.input(0), &b = context.input(3);
  const Tensor sums = product_of(shifted_left(a, &context.input(2)), shifted_right(b, &context.input(5)),
                                 y.shape(), context.threads());
  const double y_scale = read_real(context.input(6), "y_scale");
  if (sums.elements() == 0) return;
  const auto product = MatrixProduct::read(a.shape(), b.shape());
  const std::vector<double> a_scale = scales_of(context.input(1), product.rows, "a_scale");
  const std::vector<double> b_scale = scales_of(context.input(4), product.columns, "b_scale");
  const std::int64_t depth = std::max<std::int64_t>(product.depth, 1);
  // Rows and columns are counted over all matrices of their stack.
  const auto scale = [&](std::size_t i) {
    const auto at = static_cast<std::int64_t>(i), line = at / product.columns;
    const auto matrix = static_cast<std::size_t>(line / product.rows);
    const std::int64_t row = product.a_starts[matrix] / depth + line % product.rows,
                       column = product.b_starts[matrix] / depth + at % product.columns;
    return a_scale[static_cast<std::size_t>(row) % a_scale.size()] *
           b_scale[static_cast<std::size_t>(column) % b_scale.size()] / y_scale;
  };
  requantize(sums.as<double>(), scale, read_real(context.input(7), "y_zero_point"), context.output(0));
}

static Tensor convolved(KernelContext& context, const Tensor& x, const Tensor& w, const Tensor& bias) {
  const Shape& shape = context.output(0).shape();
  const auto conv = Convolution::read(context.attributes(), x.shape(), w.shape(), shape);
  Tensor sums = Tensor::allocate(DType::f64, shape);
  fill_bias<double>(conv.outputs, conv.window.position_count(), bias.as<double>(), sums.as<double>());
  convolve<double>(conv, x.as<double>(), w.as<double>(), sums.as<double>(), context.threads());
  return sums;
}

static void infer_conv_integer(InferContext& context) {
  infer_convolution(context, 0, 1, DType::i32);
}

static void run_conv_integer(KernelContext& context) {
  const Tensor x = shifted(context.input(0), optional_input(context, 2), 0);
  const Tensor w = shifted(context.input(1), optional_input(context, 3), 0);
  copy_tensor(convolved(context, x, w, Tensor::allocate(DType::f64, {0})), context.output(0));
}

static void infer_q_linear_conv(InferContext& context) {
  infer_convolution(context, 0, 3, context.input(7).dtype());
}

static void run_q_linear_conv(KernelContext& context) {
  const Tensor x = shifted(context.input(0), &context.input(2), 0),
               w = shifted(context.input(3), &context.input(5), 0);
  const Tensor bias =
      context.has(8) ? to_dtype(context.input(8), DType::f64) : Tensor::allocate(DType::f64, {0});
  const Tensor sums = convolved(context, x, w, bias);
  const double x_scale = read_real(context.input(1), "x_scale"),
               y_scale = read_real(context.input(6), "y_scale");
  if (sums.elements() == 0) return;
  const AxisView view = view_axis(sums.shape(), 1);
  const std::vector<double> w_scale = scales_of(context.input(4), view.size, "w_scale");
  const auto scale = [&](std::size_t i) {
    const auto channel = static_cast<std::int64_t>(i) / view.inner % view.size;
    return x_scale * w_scale[static_cast<std::size_t>(channel) % w_scale.size()] / y_scale;
  };
  requantize(sums.as<double>(), scale, read_real(context.input(7), "y_zero_point"), context.output(0));
}

static OpDef product_op(std::string name, int min_inputs, std::vector<OperandSpec> operands,
                        std::function<void(InferContext&)> infer,
                        std::function<void(KernelContext&)> kernel) {
  return OpDef{
      .name = std::move(name),
      .min_inputs = min_inputs,
      .max_inputs = static_cast<int>(operands.size()),
      .operands = std::move(operands),
      .attributes = {},
      .infer = std::move(infer),
      .reference = std::move(kernel),
      .expand = {},
      .traits = {
          .pattern = Pattern::contraction, .discontinuous = true, .accumulates = true, .type_bound = true}};
}

std::vector<OpDef> quantized_product_ops() {
  OpDef conv_integer = product_op("conv_integer", 2,
                                  {{"x", dtypes::bytes, 'X', "N _ D ..."},
                                   {"weights", dtypes::bytes, 'W', "M _ _ ..."},
                                   {"x_zero_point", dtypes::bytes, 'X'},
                                   {"w_zero_point", dtypes::bytes, 'W'}},
                                  infer_conv_integer, run_conv_integer);
  OpDef q_linear_conv = product_op("q_linear_conv", 8,
                                   {{"x", dtypes::bytes, 'X', "N _ D ..."},
                                    one_element("x_scale", dtypes::floats),
                                    one_element("x_zero_point", dtypes::bytes, 'X'),
                                    {"weights", dtypes::bytes, 'W', "M _ _ ..."},
                                    {"w_scale", dtypes::floats},
                                    {"w_zero_point", dtypes::bytes, 'W'},
                                    one_element("y_scale", dtypes::floats),
                                    one_element("y_zero_point", dtypes::bytes),
                                    {"bias", DType::i32, 0, "M"}},
                                   infer_q_linear_conv, run_q_linear_conv);
  OpDef matmul_integer = product_op("matmul_integer", 2,
                                    {{"a", dtypes::bytes, 'A'},
                                     {"b", dtypes::bytes, 'B'},
                                     {"a_zero_point", dtypes::bytes, 'A'},
                                     {"b_zero_point", dtypes::bytes, 'B'}},
                                    infer_matmul_integer, run_matmul_integer);
  constexpr DTypeSet stored = dtypes::bytes | dtypes::tiny_floats;
  OpDef q_linear_matmul = product_op("q_linear_matmul", 8,
                                     {{"a", stored, 'A'},
                                      {"a_scale", dtypes::floats},
                                      {"a_zero_point", stored, 'A'},
                                      {"b", stored, 'B'},
                                      {"b_scale", dtypes::floats},
                                      {"b_zero_point", stored, 'B'},
                                      one_element("y_scale", dtypes::floats),
                                      one_element("y_zero_point", stored)},
                                     infer_q_linear_matmul, run_q_linear_matmul);
  conv_integer.attributes = q_linear_conv.attributes = convolution_attribute_specs();
  return {std::move(matmul_integer), std::move(q_linear_matmul), std::move(conv_integer),
          std::move(q_linear_conv)};
}

} // namespace lanner::ops
