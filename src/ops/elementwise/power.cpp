// pow: base and exponent may have different types; the result has the base's.

#include <cmath>

#include "ops/definition/narrowed.h"
#include "ops/elementwise/elementwise.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"

namespace lanner::ops {

/// base^exponent, wrapping around; a negative exponent truncates the reciprocal.
template<typename T>
static T integer_power(T base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == T{1}) return T{1};
    if constexpr (std::is_signed_v<T>)
      if (base == T{-1}) return exponent % 2 == 0 ? T{1} : T{-1};
    return T{0};
  }
  std::uint64_t result = 1, square = static_cast<std::uint64_t>(base);
  for (auto bits = static_cast<std::uint64_t>(exponent); bits != 0; bits >>= 1, square *= square)
    if (bits & 1) result *= square;
  return static_cast<T>(result);
}

template<typename T>
static void run_typed_power(const Tensor& base, const Tensor& exponent, Tensor& out) {
  if constexpr (std::is_floating_point_v<T>) {
    if (exponent.dtype() == dtype_of<T>())
      return combine_elements<T, T, T>(base, exponent, out, [](T x, T y) { return std::pow(x, y); });
    combine_elements<T, double, T>(base, to_dtype(exponent, DType::f64), out, [](T x, double y) {
      return static_cast<T>(std::pow(static_cast<double>(x), y));
    });
  } else if (is_integer(exponent.dtype())) {
    combine_elements<T, std::int64_t, T>(base, to_dtype(exponent, DType::i64), out, integer_power<T>);
  } else {
    combine_elements<T, double, T>(base, to_dtype(exponent, DType::f64), out, [](T x, double y) {
      return narrowed<T>(std::pow(static_cast<double>(x), y));
    });
  }
}

static std::optional<Dim> known_power(const Dim& base, const Dim& exponent) {
  if (!exponent.is_constant()) return std::nullopt;
  if (base.is_constant()) return Dim(integer_power(base.value(), exponent.value()));
  if (exponent == Dim(0)) return Dim(1);
  if (exponent == Dim(1)) return base;
  if (exponent == Dim(2)) return base * base;
  return std::nullopt;
}

std::vector<OpDef> power_ops() {
  OpDef op = elementwise_op("pow", 2);
  op.operands = {{"base", dtypes::numbers}, {"exponent", dtypes::numbers}};
  op.infer = [](InferContext& context) {
    const Type type = broadcast_type(context, context.input(0).dtype());
    context.set_output(0, type);
    if (is_integer(type.dtype())) propagate_binary(context, type, known_power);
  };
  op.reference = [](KernelContext& context) {
    const DType type = kernel_dtype(context.input(0).dtype());
    const Tensor base = to_dtype(context.input(0), type);
    const Tensor exponent = to_dtype(context.input(1), kernel_dtype(context.input(1).dtype()));
    through_dtype(context.output(0), type, [&](Tensor& out) {
      visit_dtype(type, ComputeTypes{}, [&]<typename T>(Tag<T>) { run_typed_power<T>(base, exponent, out); });
    });
  };
  return {op};
}

} // namespace lanner::ops
