#include "base/check.h"
#include "ops/definition/strided.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

static std::int64_t depth_of(const Tensor& depth) {
  check(depth.elements() == 1, ErrorCode::invalid_argument,
        "one_hot: depth of shape {}, expected one element", depth.shape().to_string());
  const std::int64_t value = to_dtype(depth, DType::i64).as<std::int64_t>()[0];
  check(value >= 0, ErrorCode::invalid_argument, "one_hot: depth is {}", value);
  return value;
}

static void infer_one_hot(InferContext& context) {
  const Type& indices = context.input(0);
  const DType dtype = context.input(2).dtype();
  if (!indices.ranked()) return context.set_output(0, Type::unranked(dtype));
  const std::size_t axis = resolve_axis(context.attributes().integer("axis", -1), indices.rank() + 1);
  Dim depth;
  if (context.known(1).tensor)
    depth = Dim(depth_of(*context.known(1).tensor));
  else if (const auto known = known_scalar(context, 1))
    depth = *known;
  else
    depth = context.fresh("depth", Dim(INT64_MAX));
  Dims dims = indices.dims();
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  context.set_output(0, Type(dtype, std::move(dims)));
}

static void run_one_hot(KernelContext& context) {
  const Tensor indices = to_dtype(context.input(0), DType::i64);
  const Tensor& values = context.input(2);
  check(values.elements() == 2, ErrorCode::invalid_argument,
        "one_hot: values of shape {}, expected [off, on]", values.shape().to_string());
  const std::int64_t depth = depth_of(context.input(1));
  const std::size_t axis = resolve_axis(context.attributes().integer("axis", -1), indices.rank() + 1);
  Shape shape;
  for (std::size_t d = 0; d <= indices.rank(); ++d)
    shape.push_back(d < axis ? indices.shape()[d] : d == axis ? depth : indices.shape()[d - 1]);
  Tensor& out = context.allocate(0, values.dtype(), shape);
  const AxisView view = view_axis(shape, axis);
  const RunCopy copy_run(values.dtype());
  copy_run(out.data(), 0, 1, values.data(), 0, 0, out.elements());
  const auto places = indices.as<std::int64_t>();
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::int64_t place = places[i] < 0 ? places[i] + depth : places[i];
    if (place < 0 || place >= depth) continue;
    const std::int64_t outer = static_cast<std::int64_t>(i) / view.inner,
                       inner = static_cast<std::int64_t>(i) % view.inner;
    copy_run(out.data(), (outer * depth + place) * view.inner + inner, values.data(), 1, 1);
  }
}

std::vector<OpDef> one_hot_ops() {
  OpDef op;
  op.name = "one_hot";
  op.min_inputs = op.max_inputs = 3;
  op.operands = {
      {"indices", dtypes::numbers}, one_element("depth", dtypes::numbers), {"values", dtypes::any, 0, "2"}};
  op.attributes = {integer_attribute("axis", -1, axis_range())};
  op.infer = infer_one_hot;
  op.reference = run_one_hot;
  op.traits = {.pattern = Pattern::selection, .discontinuous = true};
  return {op};
}

} // namespace lanner::ops
