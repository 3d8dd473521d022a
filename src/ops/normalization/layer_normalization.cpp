#include "base/check.h"
#include "base/limits/counted_vector.h"
#include "ops/definition/rows.h"
#include "ops/definition/visit.h"
#include "ops/normalization/normalize.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

// layer_normalization and rms_normalization: over the axes from `axis` on.

static std::size_t first_axis(const AttributeMap& attributes, std::size_t rank) {
  return resolve_axis(attributes.integer("axis", -1), rank);
}

// stash_type is ONNX's number of an element type: 16 is bfloat16, 1 float.
static DType stash_dtype(const AttributeMap& attributes) {
  const std::int64_t number = attributes.integer("stash_type", 1);
  if (number == 16) return DType::bf16;
  check(number == 1, ErrorCode::unsupported, "stash_type is {}, expected 1 (f32) or 16 (bf16)", number);
  return DType::f32;
}

static void infer_layer_normalization(InferContext& context) {
  const Type& x = context.input(0);
  infer_like(context);
  const DType stash = stash_dtype(context.attributes());
  Type statistics = Type::unranked(stash);
  if (x.ranked()) {
    Dims dims = x.dims();
    for (std::size_t i = first_axis(context.attributes(), x.rank()); i < dims.size(); ++i) dims[i] = Dim(1);
    statistics = Type(stash, std::move(dims));
    for (std::size_t i = 1; i < context.inputs(); ++i)
      if (context.has(i)) require_spreads(context, i, x.dims(), i == 1 ? "the scale" : "the bias");
  }
  for (std::size_t i = 1; i < context.outputs(); ++i) context.set_output(i, statistics);
}

static void infer_rms_normalization(InferContext& context) {
  if (const Type& x = context.input(0); x.ranked()) {
    first_axis(context.attributes(), x.rank());
    require_spreads(context, 1, x.dims(), "the scale");
  }
  context.set_output(0, context.input(0).with_dtype(context.input(1).dtype()));
}

/// `tensor` repeated to `shape` by unidirectional broadcasting.
template<typename T>
static CountedVector<T> spread(const Tensor& tensor, const Shape& shape) {
  const Tensor source = to_dtype(tensor, dtype_of<T>());
  check(source.rank() <= shape.rank(), ErrorCode::invalid_argument,
        "a parameter of shape {} does not broadcast to {}", source.shape().to_string(), shape.to_string());
  const std::size_t missing = shape.rank() - source.rank();
  const std::vector<std::int64_t> dense = dense_strides(source.shape());
  CountedVector<T> result(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i), from = 0;
    for (std::size_t d = shape.rank(); d-- > missing;) {
      const std::int64_t size = source.shape()[d - missing];
      check(size == 1 || size == shape[d], ErrorCode::invalid_argument,
            "a parameter of shape {} does not broadcast to {}", source.shape().to_string(),
            shape.to_string());
      if (size != 1) from += rest % shape[d] * dense[d - missing];
      rest /= shape[d];
    }
    result[i] = source.as<T>()[static_cast<std::size_t>(from)];
  }
  return result;
}

// Parameters that span only the normalised axes repeat for each row; others broadcast to the whole input.
static Shape parameter_shape(const Tensor& parameter, const Shape& x, std::size_t axis) {
  if (parameter.rank() > x.rank() - axis) return x;
  return Shape(std::span(x.dims()).subspan(axis));
}

template<typename T>
struct Affine {
  CountedVector<T> scale, bias;
  T apply(T unit, std::size_t i) const {
    const T scaled = unit * scale[i % scale.size()];
    return bias.empty() ? scaled : scaled + bias[i % bias.size()];
  }
};

template<typename T>
static Affine<T> read_affine(const KernelContext& context, const Shape& x, std::size_t axis) {
  Affine<T> affine;
  affine.scale = spread<T>(context.input(1), parameter_shape(context.input(1), x, axis));
  if (context.has(2)) affine.bias = spread<T>(context.input(2), parameter_shape(context.input(2), x, axis));
  return affine;
}

static std::int64_t row_length(const Shape& shape, std::size_t axis) {
  const AxisView view = view_axis(shape, axis);
  return view.size * view.inner;
}

static void run_layer_normalization(KernelContext& context) {
  WideOutput y(context.output(0));
  const DType type = compute_dtype(context.input(0).dtype());
  const Tensor x = to_dtype(context.input(0), type);
  const std::size_t axis = first_axis(context.attributes(), x.rank());
  const std::int64_t length = row_length(x.shape(), axis);
  const std::int64_t rows = length == 0 ? 0 : x.elements() / length;
  const double epsilon = context.attributes().real("epsilon", 1e-5);
  Tensor statistics = Tensor::allocate(DType::f64, {2, rows});
  visit_compute(type, [&]<typename T>(Tag<T>) {
    const Affine<T> affine = read_affine<T>(context, x.shape(), axis);
    for_each_row(context.threads(), rows, [&](std::int64_t row) {
      const auto first = static_cast<std::size_t>(row * length), count = static_cast<std::size_t>(length);
      const Moments moments = moments_of(x.as<T>().subspan(first, count));
      const double factor = 1 / std::sqrt(moments.variance + epsilon);
      statistics.as<double>()[static_cast<std::size_t>(row)] = moments.mean;
      statistics.as<double>()[static_cast<std::size_t>(rows + row)] = factor;
      for (std::size_t i = first; i < first + count; ++i) {
        const double unit = (static_cast<double>(x.as<T>()[i]) - moments.mean) * factor;
        y.as<T>()[i] = affine.apply(static_cast<T>(unit), i);
      }
    });
  });
  y.store();
  for (std::size_t o = 1; o < context.outputs(); ++o) {
    if (!context.wanted(o)) continue;
    const auto values = statistics.as<double>().subspan((o - 1) * static_cast<std::size_t>(rows),
                                                        static_cast<std::size_t>(rows));
    copy_tensor(Tensor::from<double>(values, context.output(o).shape()), context.output(o));
  }
}

static void run_rms_normalization(KernelContext& context) {
  const DType type = compute_dtype(context.input(0).dtype());
  WideOutput y(context.output(0), type);
  const Tensor x = to_dtype(context.input(0), type);
  const std::size_t axis = first_axis(context.attributes(), x.rank());
  const std::int64_t length = row_length(x.shape(), axis);
  const std::int64_t rows = length == 0 ? 0 : x.elements() / length;
  const double epsilon = context.attributes().real("epsilon", 1e-5);
  visit_compute(type, [&]<typename T>(Tag<T>) {
    const Affine<T> affine = read_affine<T>(context, x.shape(), axis);
    for_each_row(context.threads(), rows, [&](std::int64_t row) {
      const auto first = static_cast<std::size_t>(row * length), count = static_cast<std::size_t>(length);
      double squares = 0;
      for (const T value : x.as<T>().subspan(first, count))
        squares += static_cast<double>(value) * static_cast<double>(value);
      const double factor = 1 / std::sqrt(squares / static_cast<double>(length) + epsilon);
      for (std::size_t i = first; i < first + count; ++i)
        y.as<T>()[i] = affine.apply(static_cast<T>(static_cast<double>(x.as<T>()[i]) * factor), i);
    });
  });
  y.store();
}

std::vector<OpDef> layer_normalization_ops() {
  const std::vector<AttributeSpec> attributes = {integer_attribute("axis", -1, axis_range()),
                                                 real_attribute("epsilon", 1e-5, finite_from(0)),
                                                 integer_attribute("stash_type", 1, any_integer())};
  OpDef layer{
      .name = "layer_normalization",
      .min_inputs = 2,
      .max_inputs = 3,
      .max_outputs = 3,
      .operands = {{"x", dtypes::floats, 'T'}, {"scale", dtypes::floats, 'T'}, {"bias", dtypes::floats, 'T'}},
      .attributes = attributes,
      .infer = infer_layer_normalization,
      .reference = run_layer_normalization,
      .expand = {},
      .traits = {.pattern = Pattern::row, .accumulates = true, .line_length = line_from_axis}};
  OpDef rms{.name = "rms_normalization",
            .min_inputs = 2,
            .max_inputs = 2,
            .operands = {{"x", dtypes::floats}, {"scale", dtypes::floats}},
            .attributes = attributes,
            .infer = infer_rms_normalization,
            .reference = run_rms_normalization,
            .expand = {},
            .traits = {.pattern = Pattern::row, .accumulates = true, .line_length = line_from_axis}};
  return {std::move(layer), std::move(rms)};
}

} // namespace lanner::ops
