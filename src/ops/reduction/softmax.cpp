#include <cmath>

#include "base/check.h"
#include "ops/definition/rows.h"
#include "ops/definition/visit.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

// softmax, log_softmax, hardmax and lp_normalization: line by line along `axis`.

static void infer_along_axis(InferContext& context) {
  const Type& x = context.input(0);
  if (x.ranked()) resolve_axis(context.attributes().integer("axis", -1), x.rank());
  infer_like(context);
}

/// Calls `body(in, out, count, stride)` for each line along `axis`.
template<typename Body>
static void for_each_line(KernelContext& context, Body&& body) {
  WideOutput y(context.output(0));
  const Tensor x = to_dtype(context.input(0), compute_dtype(context.input(0).dtype()));
  const AxisView view =
      view_axis(x.shape(), resolve_axis(context.attributes().integer("axis", -1), x.rank()));
  visit_compute(x.dtype(), [&]<typename T>(Tag<T>) {
    for_each_row(context.threads(), view.outer * view.inner, [&](std::int64_t line) {
      const std::int64_t start = line / view.inner * view.size * view.inner + line % view.inner;
      body(x.as<T>().data() + start, y.as<T>().data() + start, view.size, view.inner);
    });
  });
  y.store();
}

template<typename T>
static std::int64_t place_of_largest(const T* in, std::int64_t count, std::int64_t stride) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < count; ++i)
    if (in[i * stride] > in[best * stride]) best = i;
  return best;
}

template<typename T>
static double sum_of_exponentials(const T* in, std::int64_t count, std::int64_t stride, T largest) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += static_cast<double>(std::exp(in[i * stride] - largest));
  return sum;
}

static void run_softmax(KernelContext& context) {
  for_each_line(context, []<typename T>(const T* in, T* out, std::int64_t count, std::int64_t stride) {
    if (count == 0) return;
    const T largest = in[place_of_largest(in, count, stride) * stride];
    const T factor = static_cast<T>(1 / sum_of_exponentials(in, count, stride, largest));
    for (std::int64_t i = 0; i < count; ++i) out[i * stride] = std::exp(in[i * stride] - largest) * factor;
  });
}

static void run_log_softmax(KernelContext& context) {
  for_each_line(context, []<typename T>(const T* in, T* out, std::int64_t count, std::int64_t stride) {
    if (count == 0) return;
    const T largest = in[place_of_largest(in, count, stride) * stride];
    const T shift = static_cast<T>(std::log(sum_of_exponentials(in, count, stride, largest)));
    for (std::int64_t i = 0; i < count; ++i) out[i * stride] = in[i * stride] - largest - shift;
  });
}

static void run_hardmax(KernelContext& context) {
  for_each_line(context, []<typename T>(const T* in, T* out, std::int64_t count, std::int64_t stride) {
    if (count == 0) return;
    const std::int64_t best = place_of_largest(in, count, stride);
    for (std::int64_t i = 0; i < count; ++i) out[i * stride] = i == best ? T{1} : T{0};
  });
}

static void infer_lp_normalization(InferContext& context) {
  const std::int64_t p = context.attributes().integer("p", 2);
  check(p == 1 || p == 2, ErrorCode::invalid_argument, "p is {}, expected 1 or 2", p);
  infer_along_axis(context);
}

static void run_lp_normalization(KernelContext& context) {
  const bool squared = context.attributes().integer("p", 2) == 2;
  for_each_line(context, [=]<typename T>(const T* in, T* out, std::int64_t count, std::int64_t stride) {
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const double value = static_cast<double>(in[i * stride]);
      sum += squared ? value * value : std::abs(value);
    }
    const double norm = squared ? std::sqrt(sum) : sum;
    for (std::int64_t i = 0; i < count; ++i)
      out[i * stride] = norm == 0 ? T{0} : static_cast<T>(static_cast<double>(in[i * stride]) / norm);
  });
}

static OpDef along_axis(std::string name, std::function<void(KernelContext&)> kernel) {
  return OpDef{.name = std::move(name),
               .min_inputs = 1,
               .max_inputs = 1,
               .operands = {{"x", dtypes::all_floats}},
               .attributes = {integer_attribute("axis", -1, axis_range())},
               .infer = infer_along_axis,
               .reference = std::move(kernel),
               .expand = {},
               .traits = {.pattern = Pattern::row,
                          .accumulates = true,
                          .split = splits_beside_axis(-1),
                          .line_length = line_along_axis}};
}

std::vector<OpDef> softmax_ops() {
  OpDef lp_normalization = along_axis("lp_normalization", run_lp_normalization);
  lp_normalization.attributes.push_back(integer_attribute("p", 2, between(1, 2)));
  lp_normalization.infer = infer_lp_normalization;
  lp_normalization.traits.range = fixed_range(-1, 1);
  OpDef softmax = along_axis("softmax", run_softmax);
  softmax.traits.range = fixed_range(0, 1);
  OpDef hardmax = along_axis("hardmax", run_hardmax);
  hardmax.traits = {.pattern = Pattern::selection, .discontinuous = true, .range = fixed_range(0, 1)};
  return {std::move(softmax), along_axis("log_softmax", run_log_softmax), std::move(hardmax),
          std::move(lp_normalization)};
}

} // namespace lanner::ops
