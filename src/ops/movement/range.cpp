#include <cmath>

#include "base/check.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/elementwise.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

/// Number of elements from `start` in steps of `delta`, excluding `limit`.
template<typename T>
static std::int64_t range_length(T start, T limit, T delta) {
  check(delta != T{0}, ErrorCode::invalid_argument, "range: delta is 0");
  if constexpr (std::is_floating_point_v<T>) {
    const double length =
        std::ceil((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta));
    check(length < 0x1p62 && !std::isnan(length), ErrorCode::limit_exceeded,
          "range: from {} by {} to {} has no end", start, delta, limit);
    return length > 0 ? static_cast<std::int64_t>(length) : 0;
  } else {
    const bool up = delta > 0;
    if (up ? start >= limit : start <= limit) return 0;
    const auto distance = up ? static_cast<std::uint64_t>(limit) - static_cast<std::uint64_t>(start)
                             : static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(limit);
    const std::uint64_t step = up ? static_cast<std::uint64_t>(delta) : 0 - static_cast<std::uint64_t>(delta);
    const std::uint64_t length = (distance - 1) / step + 1;
    check(length < std::uint64_t{1} << 62, ErrorCode::limit_exceeded,
          "range: from {} by {} to {} has {} elements", start, delta, limit, length);
    return static_cast<std::int64_t>(length);
  }
}

template<typename Body>
static void visit_range(DType type, Body&& body) {
  visit_dtype(kernel_dtype(type), ComputeTypes{}, std::forward<Body>(body));
}

template<typename T>
static T only_element(const Tensor& tensor) {
  check(tensor.elements() == 1, ErrorCode::invalid_argument,
        "range: an operand of shape {}, expected a scalar", tensor.shape().to_string());
  return to_dtype(tensor, dtype_of<T>()).template as<T>()[0];
}

/// The length when it follows from what is known.
static std::optional<Dim> known_length(const InferContext& context) {
  const Known &start = context.known(0), &limit = context.known(1), &delta = context.known(2);
  if (start.tensor && limit.tensor && delta.tensor) {
    std::int64_t length = 0;
    visit_range(context.input(0).dtype(), [&]<typename T>(Tag<T>) {
      length = range_length(only_element<T>(*start.tensor), only_element<T>(*limit.tensor),
                            only_element<T>(*delta.tensor));
    });
    return Dim(length);
  }
  const auto first = known_scalar(context, 0), last = known_scalar(context, 1),
             step = known_scalar(context, 2);
  if (!first || !last || !step || !step->is_constant()) return std::nullopt;
  const std::int64_t by = step->value();
  check(by != 0, ErrorCode::invalid_argument, "range: delta is 0");
  if (by < 0) return max(Dim(0), ceil_div(*first - *last, Dim(-by)));
  const Dim length = ceil_div(*last - *first, Dim(by));
  return surely_nonnegative(length) ? length : max(Dim(0), length);
}

static void infer_range(InferContext& context) {
  const DType dtype = common_dtype(context);
  for (std::size_t i = 0; i < 3; ++i)
    if (const auto shape = static_shape(context, i))
      check(shape->elements() == 1, ErrorCode::invalid_argument, "range: input {} is {}, expected a scalar",
            i, context.input(i).to_string());
  const auto length = known_length(context);
  const Type type(dtype, Dims{length ? *length : context.fresh("range", Dim(INT64_MAX))});
  context.set_output(0, type);
  const auto first = known_scalar(context, 0), step = known_scalar(context, 2);
  if (!first || !step || !type.is_static() || type.shape().elements() > max_known_elements) return;
  // Added step by step: no sum overflows 64 bits before the limit.
  Dims elements;
  for (std::int64_t i = 0; i < type.shape().elements(); ++i)
    elements.push_back(i == 0 ? *first : elements.back() + *step);
  set_known_elements(context, 0, type, std::move(elements));
}

static void run_range(KernelContext& context) {
  const DType dtype = context.input(0).dtype();
  visit_range(dtype, [&]<typename T>(Tag<T>) {
    const T start = only_element<T>(context.input(0)), delta = only_element<T>(context.input(2));
    const std::int64_t length = range_length(start, only_element<T>(context.input(1)), delta);
    through_dtype(context.allocate(0, dtype, Shape{length}), dtype_of<T>(), [&](Tensor& out) {
      const auto values = out.as<T>();
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = Add{}(start, Multiply{}(static_cast<T>(i), delta));
    });
  });
}

std::vector<OpDef> range_ops() {
  OpDef op;
  op.name = "range";
  op.min_inputs = op.max_inputs = 3;
  op.operands = {one_element("start", dtypes::numbers, 'T'), one_element("limit", dtypes::numbers, 'T'),
                 one_element("delta", dtypes::numbers, 'T')};
  op.attributes = {integer_attribute("stash_type", 1, any_integer())};
  op.infer = infer_range;
  op.reference = run_range;
  op.traits = of_pattern(Pattern::generation);
  return {op};
}

} // namespace lanner::ops
