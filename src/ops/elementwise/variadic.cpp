// min, max, sum and mean of any number of operands with broadcasting, and clip.

#include "base/check.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/elementwise.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"

namespace lanner::ops {

template<typename Function>
static void infer_variadic(InferContext& context) {
  const Type type = broadcast_type(context, common_dtype(context));
  context.set_output(0, type);
  if (!is_integer(type.dtype())) return;
  if (context.inputs() == 2)
    propagate_binary(context, type, Function::known);
  else if (context.inputs() == 1)
    set_known_view(context, 0, type);
}

/// Folds the operands into `out`, whose type is kernel_dtype of theirs.
template<typename T, typename Function>
static void fold_operands(KernelContext& context, Tensor& out, Function function) {
  combine_elements<T, T, T>(to_dtype(context.input(0), out.dtype()), out, out, [](T a, T) { return a; });
  for (std::size_t i = 1; i < context.inputs(); ++i)
    combine_elements<T, T, T>(out, to_dtype(context.input(i), out.dtype()), out, function);
}

template<typename Function>
static void run_variadic(KernelContext& context) {
  const DType type = kernel_dtype(context.input(0).dtype());
  through_dtype(context.output(0), type, [&](Tensor& out) {
    visit_dtype(type, ComputeTypes{},
                [&]<typename T>(Tag<T>) { fold_operands<T>(context, out, Function{}); });
  });
}

template<typename Function>
static OpDef variadic_op(std::string name) {
  OpDef op = elementwise_op(std::move(name), 1);
  op.operands = same_types(dtypes::numbers, {"input"});
  op.max_inputs = OpDef::any;
  op.infer = infer_variadic<Function>;
  op.reference = run_variadic<Function>;
  return op;
}

static OpDef mean_op() {
  OpDef op = elementwise_op("mean", 1);
  op.operands = same_types(dtypes::all_floats, {"input"});
  op.max_inputs = OpDef::any;
  op.infer = [](InferContext& context) {
    context.set_output(0, broadcast_type(context, common_dtype(context)));
  };
  op.reference = [](KernelContext& context) {
    const DType type = kernel_dtype(context.input(0).dtype());
    through_dtype(context.output(0), type, [&](Tensor& out) {
      visit_dtype(type, Types<float, double>{}, [&]<typename T>(Tag<T>) {
        fold_operands<T>(context, out, Add{});
        const T count = static_cast<T>(context.inputs());
        map_elements<T, T>(out, out, [count](T x) { return x / count; });
      });
    });
  };
  return op;
}

static void infer_clip(InferContext& context) {
  common_dtype(context);
  const Type& type = context.input(0);
  for (std::size_t i = 1; i < context.inputs(); ++i) {
    if (!context.has(i) || !context.input(i).is_static()) continue;
    check(context.input(i).shape().elements() == 1, ErrorCode::invalid_argument,
          "clip: bound of type {}, expected a scalar", context.input(i).to_string());
  }
  context.set_output(0, type);
  if (!is_integer(type.dtype())) return;
  const auto low = known_scalar(context, 1), high = known_scalar(context, 2);
  if ((context.has(1) && !low) || (context.has(2) && !high)) return;
  propagate_unary(context, type, [&](const Dim& x) -> std::optional<Dim> {
    const Dim raised = low ? max(x, *low) : x;
    return high ? min(raised, *high) : raised;
  });
}

template<typename T>
static void run_typed_clip(KernelContext& context, const Tensor& x, Tensor& out) {
  std::optional<T> low, high;
  if (context.has(1)) low = to_dtype(context.input(1), out.dtype()).template as<T>()[0];
  if (context.has(2)) high = to_dtype(context.input(2), out.dtype()).template as<T>()[0];
  map_elements<T, T>(x, out, [&](T value) {
    if (low && value < *low) value = *low;
    if (high && value > *high) value = *high;
    return value;
  });
}

static void run_clip(KernelContext& context) {
  for (std::size_t i = 1; i < context.inputs(); ++i)
    check(!context.has(i) || context.input(i).elements() == 1, ErrorCode::invalid_argument,
          "clip: bound of shape {}, expected a scalar",
          context.has(i) ? context.input(i).shape().to_string() : "");
  const DType type = kernel_dtype(context.input(0).dtype());
  const Tensor x = to_dtype(context.input(0), type);
  through_dtype(context.output(0), type, [&](Tensor& out) {
    visit_dtype(type, ComputeTypes{}, [&]<typename T>(Tag<T>) { run_typed_clip<T>(context, x, out); });
  });
}

std::vector<OpDef> variadic_ops() {
  OpDef clip = elementwise_op("clip", 1);
  clip.max_inputs = 3;
  clip.operands = {{"x", dtypes::numbers, 'T'},
                   one_element("min", dtypes::numbers, 'T'),
                   one_element("max", dtypes::numbers, 'T')};
  clip.infer = infer_clip;
  clip.reference = run_clip;
  return {variadic_op<Minimum>("min"), variadic_op<Maximum>("max"), variadic_op<Add>("sum"), mean_op(), clip};
}

} // namespace lanner::ops
