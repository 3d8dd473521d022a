// Arithmetic of two operands with broadcasting. Integers wrap around; division by an integer zero gives zero.

#include <cmath>

#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/formula_op.h"
#include "ops/formulas/arithmetic.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

/// Whether a / b is undefined in T: by zero, or the smallest integer by -1.
template<typename T>
static bool division_overflows(T a, T b) {
  if (b == 0) return true;
  if constexpr (std::is_signed_v<T>) return b == T{-1} && a == std::numeric_limits<T>::min();
  return false;
}

struct Divide {
  static std::optional<Dim> known(const Dim& a, const Dim& b) {
    if (a.is_constant() && b.is_constant())
      return Dim((formulas::Number(a.value()) / formulas::Number(b.value())).value);
    // Truncation is floor where nothing is negative.
    if (!surely_nonnegative(a) || !surely_nonnegative(b) || b == Dim(0)) return std::nullopt;
    return floor_div(a, b);
  }
};

/// Remainder with the sign of the divisor.
struct FloorModulo {
  template<typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (division_overflows(a, b)) return T{0};
      const T remainder = static_cast<T>(a % b);
      return remainder != 0 && ((remainder < 0) != (b < 0)) ? static_cast<T>(remainder + b) : remainder;
    } else {
      if (std::isinf(b) && std::isfinite(a) && a != 0) return (a < 0) == (b < 0) ? a : b;
      const T remainder = std::fmod(a, b);
      if (remainder == 0) return std::copysign(T{0}, b);
      return (remainder < 0) != (b < 0) ? remainder + b : remainder;
    }
  }
  static std::optional<Dim> known(const Dim& a, const Dim& b) {
    if (a.is_constant() && b.is_constant()) return Dim(FloorModulo{}(a.value(), b.value()));
    if (!surely_nonnegative(a) || !surely_nonnegative(b) || b == Dim(0)) return std::nullopt;
    return mod(a, b);
  }
};

/// Remainder with the sign of the dividend.
struct TruncatedModulo {
  template<typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return division_overflows(a, b) ? T{0} : static_cast<T>(a % b);
    else
      return std::fmod(a, b);
  }
  static std::optional<Dim> known(const Dim& a, const Dim& b) {
    if (a.is_constant() && b.is_constant()) return Dim(TruncatedModulo{}(a.value(), b.value()));
    return FloorModulo::known(a, b);
  }
};

template<typename Function>
static void infer_arithmetic(InferContext& context) {
  const Type type = broadcast_type(context, common_dtype(context));
  context.set_output(0, type);
  if (is_integer(type.dtype())) propagate_binary(context, type, Function::known);
}

template<typename Function>
static void run_arithmetic(KernelContext& context) {
  const DType type = kernel_dtype(context.input(0).dtype());
  const Tensor a = to_dtype(context.input(0), type), b = to_dtype(context.input(1), type);
  through_dtype(context.output(0), type, [&](Tensor& out) {
    visit_dtype(type, ComputeTypes{},
                [&]<typename T>(Tag<T>) { combine_elements<T, T, T>(a, b, out, Function{}); });
  });
}

static OpDef mod_op() {
  OpDef op = elementwise_op("mod", 2);
  op.traits = stepwise();
  op.operands = same_types(dtypes::numbers, {"x", "y"});
  op.attributes = {flag_attribute("fmod", false)};
  op.infer = [](InferContext& context) {
    if (context.attributes().flag("fmod"))
      infer_arithmetic<TruncatedModulo>(context);
    else
      infer_arithmetic<FloorModulo>(context);
  };
  op.reference = [](KernelContext& context) {
    if (context.attributes().flag("fmod"))
      run_arithmetic<TruncatedModulo>(context);
    else
      run_arithmetic<FloorModulo>(context);
  };
  return op;
}

std::vector<OpDef> arithmetic_ops() {
  std::vector<OpDef> ops = formula_ops(formulas::arithmetic_list);
  named(ops, "add").infer = infer_arithmetic<Add>;
  named(ops, "sub").infer = infer_arithmetic<Subtract>;
  named(ops, "mul").infer = infer_arithmetic<Multiply>;
  named(ops, "div").infer = infer_arithmetic<Divide>;
  ops.push_back(mod_op());
  return ops;
}

} // namespace lanner::ops
