#include "base/check.h"
#include "ops/definition/rows.h"
#include "ops/definition/visit.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

// arg_max and arg_min.

static void infer_arg(InferContext& context) {
  const Type& x = context.input(0);
  if (!x.ranked()) return context.set_output(0, Type::unranked(DType::i64));
  Dims dims = x.dims();
  const auto axis =
      static_cast<std::ptrdiff_t>(resolve_axis(context.attributes().integer("axis", 0), x.rank()));
  if (context.attributes().flag("keepdims", true))
    dims[static_cast<std::size_t>(axis)] = Dim(1);
  else
    dims.erase(dims.begin() + axis);
  context.set_output(0, Type(DType::i64, std::move(dims)));
}

/// `better(a, b)`: a is strictly better than b.
template<typename Better>
static void run_arg(KernelContext& context, Better better) {
  const DType given = context.input(0).dtype();
  const Tensor x = to_dtype(context.input(0), is_float(given) ? compute_dtype(given) : given);
  const AxisView view = view_axis(x.shape(), resolve_axis(context.attributes().integer("axis", 0), x.rank()));
  check(view.size > 0 || view.outer * view.inner == 0, ErrorCode::invalid_argument,
        "the axis has no elements");
  const bool last = context.attributes().flag("select_last_index");
  std::int64_t* out = context.output(0).as<std::int64_t>().data();
  visit_dtype(x.dtype(), decltype(join(Types<float, double>{}, IntegerTypes{})){}, [&]<typename T>(Tag<T>) {
    for_each_row(context.threads(), view.outer * view.inner, [&](std::int64_t line) {
      const T* in = x.as<T>().data() + line / view.inner * view.size * view.inner + line % view.inner;
      std::int64_t best = 0;
      for (std::int64_t i = 1; i < view.size; ++i) {
        const T value = in[i * view.inner], leader = in[best * view.inner];
        if (better(value, leader) || (last && value == leader)) best = i;
      }
      out[line] = best;
    });
  });
}

static OpDef arg_op(std::string name, std::function<void(KernelContext&)> kernel) {
  return OpDef{.name = std::move(name),
               .min_inputs = 1,
               .max_inputs = 1,
               .operands = {{"data", dtypes::numbers}},
               .attributes = {integer_attribute("axis", 0, axis_range()), flag_attribute("keepdims", true),
                              flag_attribute("select_last_index", false)},
               .infer = infer_arg,
               .reference = std::move(kernel),
               .expand = {},
               .traits = {.pattern = Pattern::selection, .discontinuous = true}};
}

std::vector<OpDef> arg_max_ops() {
  return {arg_op("arg_max",
                 [](KernelContext& context) { run_arg(context, [](auto a, auto b) { return a > b; }); }),
          arg_op("arg_min",
                 [](KernelContext& context) { run_arg(context, [](auto a, auto b) { return a < b; }); })};
}

} // namespace lanner::ops
