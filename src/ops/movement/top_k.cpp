#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/limits/counted_vector.h"
#include "base/limits/paced_deadline.h"
#include "ops/definition/rows.h"
#include "ops/definition/visit.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

static void infer_top_k(InferContext& context) {
  const Type& x = context.input(0);
  if (!x.ranked()) {
    infer_like(context);
    return context.set_output(1, Type::unranked(DType::i64));
  }
  const std::size_t axis = resolve_axis(context.attributes().integer("axis", -1), x.rank());
  const std::optional<Dim> k = known_scalar(context, 1);
  Dims dims = x.dims();
  if (k && k->is_constant()) {
    check(k->value() >= 0, ErrorCode::invalid_argument, "k is {}, expected at least 0", k->value());
    check(!dims[axis].is_constant() || k->value() <= dims[axis].value(), ErrorCode::invalid_argument,
          "k is {}, but axis {} has {} elements", k->value(), axis, dims[axis].to_string());
  }
  dims[axis] = k ? *k : context.fresh("k", dims[axis]);
  context.set_output(0, x.with_dims(dims));
  context.set_output(1, Type(DType::i64, std::move(dims)));
}

/// Whether x is less than y, with NaN larger than any number: a strict weak order for sorting.
template<typename T>
static bool ranks_below(T x, T y) {
  return x < y || (x == x && y != y);
}

template<typename T>
static void select_top(const T* in, const AxisView& view, std::int64_t k, bool largest,
                       std::span<std::int64_t> order) {
  std::iota(order.begin(), order.end(), 0);
  PacedDeadline look;
  const auto before = [&](std::int64_t a, std::int64_t b) {
    look();
    const T left = in[a * view.inner], right = in[b * view.inner];
    if (ranks_below(left, right)) return !largest;
    if (ranks_below(right, left)) return largest;
    return a < b;
  };
  std::partial_sort(order.begin(), order.begin() + k, order.end(), before);
}

static void run_top_k(KernelContext& context) {
  const DType given = context.input(0).dtype(), type = is_float(given) ? compute_dtype(given) : given;
  const Tensor x = to_dtype(context.input(0), type);
  const std::size_t axis = resolve_axis(context.attributes().integer("axis", -1), x.rank());
  const AxisView view = view_axis(x.shape(), axis);
  const std::int64_t k = context.output(0).shape()[axis];
  const bool largest = context.attributes().flag("largest", true);
  WideOutput values(context.output(0), type);
  std::int64_t* places = context.output(1).as<std::int64_t>().data();
  visit_dtype(type, decltype(join(Types<float, double>{}, IntegerTypes{})){}, [&]<typename T>(Tag<T>) {
    for_each_row(context.threads(), view.outer * view.inner, [&](std::int64_t line) {
      const std::int64_t o = line / view.inner, i = line % view.inner;
      const T* in = x.as<T>().data() + o * view.size * view.inner + i;
      CountedVector<std::int64_t> order(static_cast<std::size_t>(view.size));
      select_top(in, view, k, largest, order);
      for (std::int64_t j = 0; j < k; ++j) {
        const std::int64_t to = (o * k + j) * view.inner + i, from = order[static_cast<std::size_t>(j)];
        values.as<T>()[static_cast<std::size_t>(to)] = in[from * view.inner];
        places[to] = from;
      }
    });
  });
  values.store();
}

std::vector<OpDef> top_k_ops() {
  return {OpDef{.name = "top_k",
                .min_inputs = 2,
                .max_inputs = 2,
                .min_outputs = 2,
                .max_outputs = 2,
                .operands = {{"x", dtypes::numbers}, one_element("k", dtypes::counts)},
                .attributes = {integer_attribute("axis", -1, axis_range()), flag_attribute("largest", true),
                               flag_attribute("sorted", true)},
                .infer = infer_top_k,
                .reference = run_top_k,
                .expand = {},
                .traits = {.pattern = Pattern::selection, .discontinuous = true}}};
}

} // namespace lanner::ops
