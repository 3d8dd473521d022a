#include "base/check.h"
#include "ops/definition/strided.h"
#include "ops/elementwise/elementwise.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"
#include "tensor/strings.h"

namespace lanner::ops {

static void propagate_where(InferContext& context, const Type& type) {
  const auto condition_shape = static_shape(context, 0), x_shape = static_shape(context, 1);
  const auto y_shape = static_shape(context, 2);
  if (!type.is_static() || !condition_shape || !x_shape || !y_shape) return;
  const auto condition = broadcast_known(known_elements(context, 0), *condition_shape, type.shape());
  const auto x = broadcast_known(known_elements(context, 1), *x_shape, type.shape());
  const auto y = broadcast_known(known_elements(context, 2), *y_shape, type.shape());
  if (!condition || !x || !y) return;
  Dims result;
  for (std::size_t i = 0; i < condition->size(); ++i) {
    if (!(*condition)[i].is_constant() && !((*x)[i] == (*y)[i])) return;
    result.push_back((*condition)[i] == Dim(0) ? (*y)[i] : (*x)[i]);
  }
  set_known_elements(context, 0, type, std::move(result));
}

static void infer_where(InferContext& context) {
  check(context.input(0).dtype() == DType::boolean, ErrorCode::invalid_argument,
        "where: condition is {}, expected bool", to_string(context.input(0).dtype()));
  const DType dtype = context.input(1).dtype();
  check(context.input(2).dtype() == dtype, ErrorCode::invalid_argument,
        "where: input 2 is {}, expected {} as input 1 is", to_string(context.input(2).dtype()),
        to_string(dtype));
  const Type type = broadcast_type(context, dtype);
  context.set_output(0, type);
  propagate_where(context, type);
}

template<typename T>
static void choose(const bool* condition, const T* x, const T* y, T* out, const BroadcastLoop& loop) {
  const std::int64_t step = loop.step(0), x_step = loop.step(1), y_step = loop.step(2);
  loop.run([&](std::int64_t at, const BroadcastLoop::Offsets& offsets, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
      assign_element(out[at + i], condition[offsets[0] + i * step] ? x[offsets[1] + i * x_step]
                                                                   : y[offsets[2] + i * y_step]);
  });
}

static void run_where(KernelContext& context) {
  const Tensor &condition = context.input(0), &x = context.input(1), &y = context.input(2);
  Tensor& out = context.output(0);
  const std::array shapes = {condition.shape(), x.shape(), y.shape()};
  const BroadcastLoop loop(out.shape(), shapes);
  visit_storage(out.dtype(), [&]<typename T>(Tag<T>) {
    choose(condition.as<bool>().data(), static_cast<const T*>(x.data()), static_cast<const T*>(y.data()),
           static_cast<T*>(out.data()), loop);
  });
}

std::vector<OpDef> where_ops() {
  OpDef op = elementwise_op("where", 3);
  op.operands = {{"condition", dtypes::booleans}, {"x", dtypes::any, 'T'}, {"y", dtypes::any, 'T'}};
  op.infer = infer_where;
  op.reference = run_where;
  op.traits = {.pattern = Pattern::movement, .split = splits_elements};
  return {op};
}

} // namespace lanner::ops
