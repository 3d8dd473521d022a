#include "ops/definition/rows.h"
#include "ops/definition/visit.h"
#include "ops/product/matrix_product.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

// cum_sum and cum_prod: running folds along one axis.

using CumulativeTypes = Types<float, double, std::int32_t, std::int64_t, std::uint32_t, std::uint64_t>;

template<typename Step>
static void run_cumulative(KernelContext& context, int start, Step step) {
  const DType given = context.input(0).dtype(), type = is_float(given) ? compute_dtype(given) : given;
  WideOutput y(context.output(0), type);
  const Tensor x = to_dtype(context.input(0), type);
  const AxisView view = view_axis(x.shape(), resolve_axis(read_integer(context.input(1), "axis"), x.rank()));
  const bool reverse = context.attributes().flag("reverse"),
             exclusive = context.attributes().flag("exclusive");
  visit_dtype(type, CumulativeTypes{}, [&]<typename T>(Tag<T>) {
    for_each_row(context.threads(), view.outer * view.inner, [&](std::int64_t line) {
      const std::int64_t base = line / view.inner * view.size * view.inner + line % view.inner;
      const T* in = x.as<T>().data() + base;
      T* out = y.as<T>().data() + base;
      T total = static_cast<T>(start);
      for (std::int64_t i = 0; i < view.size; ++i) {
        const std::int64_t at = (reverse ? view.size - 1 - i : i) * view.inner;
        const T next = step(total, in[at]);
        out[at] = exclusive ? total : next;
        total = next;
      }
    });
  });
  y.store();
}

static OpDef cumulative_op(std::string name, std::function<void(KernelContext&)> kernel) {
  return OpDef{
      .name = std::move(name),
      .min_inputs = 2,
      .max_inputs = 2,
      .operands = {{"x", dtypes::all_floats | dtypes::wide_integers}, one_element("axis", dtypes::counts)},
      .attributes = {flag_attribute("exclusive", false), flag_attribute("reverse", false)},
      .infer = [](InferContext& context) { infer_like(context); },
      .reference = std::move(kernel),
      .expand = {},
      .traits = {.pattern = Pattern::row, .accumulates = true, .line_length = line_of_axis_input}};
}

std::vector<OpDef> cum_sum_ops() {
  const auto add = []<typename T>(T total, T x) { return multiply_add(total, x, T{1}); };
  const auto times = []<typename T>(T total, T x) { return multiply_add(T{0}, total, x); };
  return {cumulative_op("cum_sum", [=](KernelContext& context) { run_cumulative(context, 0, add); }),
          cumulative_op("cum_prod", [=](KernelContext& context) { run_cumulative(context, 1, times); })};
}

} // namespace lanner::ops
