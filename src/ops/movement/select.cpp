// Data-dependent output sizes: non_zero, compress.

#include "base/check.h"
#include "base/limits/counted_vector.h"
#include "ops/definition/strided.h"
#include "ops/elementwise/elementwise.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

static void infer_non_zero(InferContext& context) {
  const Type& input = context.input(0);
  if (!input.ranked()) {
    const Dim rank = context.fresh("rank", Dim(Limits{}.rank));
    return context.set_output(0, Type(DType::i64, {rank, context.fresh("non_zero", Dim(INT64_MAX))}));
  }
  const Dim count = context.fresh("non_zero", product(input.dims()));
  context.set_output(0, Type(DType::i64, {Dim(static_cast<std::int64_t>(input.rank())), count}));
}

/// Row-major indices of the elements that are not 0, false or "".
static CountedVector<std::int64_t> non_zero_indices(const Tensor& input) {
  CountedVector<std::int64_t> found;
  const DType type = kernel_dtype(input.dtype());
  const Tensor x = to_dtype(input, type);
  visit_dtype(type, decltype(join(ComputeTypes{}, Types<bool, std::string>{})){}, [&]<typename T>(Tag<T>) {
    const auto elements = x.as<T>();
    for (std::size_t i = 0; i < elements.size(); ++i)
      if (elements[i] != T{}) found.push_back(static_cast<std::int64_t>(i));
  });
  return found;
}

static void run_non_zero(KernelContext& context) {
  const Shape& shape = context.input(0).shape();
  const CountedVector<std::int64_t> found = non_zero_indices(context.input(0));
  const auto count = static_cast<std::int64_t>(found.size());
  Tensor& out = context.allocate(0, DType::i64, Shape{static_cast<std::int64_t>(shape.rank()), count});
  const auto indices = out.as<std::int64_t>();
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::int64_t index = found[i];
    for (std::size_t d = shape.rank(); d-- > 0; index /= shape[d])
      indices[d * found.size() + i] = index % shape[d];
  }
}

static void infer_compress(InferContext& context) {
  const Type& input = context.input(0);
  check(context.input(1).dtype() == DType::boolean, ErrorCode::invalid_argument,
        "compress: condition is {}, expected bool", to_string(context.input(1).dtype()));
  require_rank(context, 1, 1);
  const bool along = context.attributes().has("axis");
  if (!input.ranked()) {
    if (along) return context.set_output(0, input);
    return context.set_output(0, input.with_dims({context.fresh("compress", Dim(INT64_MAX))}));
  }
  if (!along)
    return context.set_output(0, input.with_dims({context.fresh("compress", product(input.dims()))}));
  const std::size_t axis = resolve_axis(context.attributes().integer("axis", 0), input.rank());
  Dims dims = input.dims();
  dims[axis] = context.fresh("compress", dims[axis]);
  context.set_output(0, input.with_dims(std::move(dims)));
}

static void run_compress(KernelContext& context) {
  const Tensor& input = context.input(0);
  const bool along = context.attributes().has("axis");
  AxisView view{1, input.elements(), 1};
  Shape shape{0};
  std::size_t axis = 0;
  if (along) {
    axis = resolve_axis(context.attributes().integer("axis", 0), input.rank());
    view = view_axis(input.shape(), axis);
    shape = input.shape();
  }
  CountedVector<std::int64_t> kept;
  const auto condition = context.input(1).as<bool>();
  for (std::size_t i = 0; i < condition.size() && static_cast<std::int64_t>(i) < view.size; ++i)
    if (condition[i]) kept.push_back(static_cast<std::int64_t>(i));
  shape[axis] = static_cast<std::int64_t>(kept.size());
  Tensor& out = context.allocate(0, input.dtype(), shape);
  if (out.elements() == 0) return; // The outer dims may have any size.
  const RunCopy copy_run(input.dtype());
  std::int64_t at = 0;
  for (std::int64_t outer = 0; outer < view.outer; ++outer) {
    for (const std::int64_t place : kept) {
      copy_run(out.data(), at, input.data(), (outer * view.size + place) * view.inner, view.inner);
      at += view.inner;
    }
  }
}

std::vector<OpDef> select_ops() {
  OpDef non_zero;
  non_zero.name = "non_zero";
  non_zero.min_inputs = non_zero.max_inputs = 1;
  non_zero.operands = {{"x", dtypes::numbers | dtypes::booleans | dtypes::strings}};
  non_zero.infer = infer_non_zero;
  non_zero.reference = run_non_zero;
  OpDef compress;
  compress.name = "compress";
  compress.min_inputs = compress.max_inputs = 2;
  compress.operands = {{"x", dtypes::any}, {"condition", dtypes::booleans, 0, "_"}};
  compress.attributes = {optional_attribute("axis", AttributeKind::integer, axis_range())};
  compress.infer = infer_compress;
  compress.reference = run_compress;
  non_zero.traits = {.pattern = Pattern::selection, .discontinuous = true};
  compress.traits = movement();
  return {non_zero, compress};
}

} // namespace lanner::ops
