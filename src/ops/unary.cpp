// Mathematical functions of one operand.

#include <cmath>

#include "ops/elementwise.h"
#include "ops/table.h"

namespace lanner::ops {

using FloatComputeTypes = Types<float, double>;

template<typename Function>
static OpDef float_function(std::string name, Function function) {
  OpDef op = elementwise_op(std::move(name), 1);
  op.infer = infer_same_float;
  op.reference = [function](KernelContext& context) { map_numbers(context, FloatComputeTypes{}, function); };
  return op;
}

static std::vector<OpDef> exponential_functions() {
  return {
      float_function("exp", [](auto x) { return std::exp(x); }),
      float_function("log", [](auto x) { return std::log(x); }),
      float_function("sqrt", [](auto x) { return std::sqrt(x); }),
      float_function("reciprocal", [](auto x) { return 1 / x; }),
      float_function("erf", [](auto x) { return std::erf(x); }),
      float_function("sigmoid", [](auto x) { return 1 / (1 + std::exp(-x)); }),
      // log(1 + e^x) = max(x, 0) + log(1 + e^-|x|), which does not overflow.
      float_function("softplus", [](auto x) { return (x < 0 ? 0 : x) + std::log1p(std::exp(-std::abs(x))); }),
      float_function("softsign", [](auto x) { return x / (1 + std::abs(x)); }),
  };
}

static std::vector<OpDef> trigonometric_functions() {
  return {
      float_function("sin", [](auto x) { return std::sin(x); }),
      float_function("cos", [](auto x) { return std::cos(x); }),
      float_function("tan", [](auto x) { return std::tan(x); }),
      float_function("asin", [](auto x) { return std::asin(x); }),
      float_function("acos", [](auto x) { return std::acos(x); }),
      float_function("atan", [](auto x) { return std::atan(x); }),
      float_function("sinh", [](auto x) { return std::sinh(x); }),
      float_function("cosh", [](auto x) { return std::cosh(x); }),
      float_function("tanh", [](auto x) { return std::tanh(x); }),
      float_function("asinh", [](auto x) { return std::asinh(x); }),
      float_function("acosh", [](auto x) { return std::acosh(x); }),
      float_function("atanh", [](auto x) { return std::atanh(x); }),
  };
}

static std::vector<OpDef> rounding_functions() {
  return {
      float_function("floor", [](auto x) { return std::floor(x); }),
      float_function("ceil", [](auto x) { return std::ceil(x); }),
      // nearbyint rounds halves to even in the default rounding mode, which Lanner never changes.
      float_function("round", [](auto x) { return std::nearbyint(x); }),
  };
}

/// A function of floats and integers, with its rule for known integers.
template<typename Function>
static OpDef number_function(std::string name, KnownUnary rule, Function function) {
  OpDef op = elementwise_op(std::move(name), 1);
  op.infer = [rule = std::move(rule)](InferContext& context) {
    infer_same(context);
    if (rule) propagate_unary(context, context.input(0), rule);
  };
  op.reference = [function](KernelContext& context) { map_numbers(context, ComputeTypes{}, function); };
  return op;
}

static std::optional<Dim> known_abs(const Dim& x) {
  if (surely_nonnegative(x)) return x;
  if (x.is_constant() && x.value() != INT64_MIN) return Dim(-x.value());
  return std::nullopt;
}

static std::optional<Dim> known_sign(const Dim& x) {
  if (!x.is_constant()) return std::nullopt;
  return Dim((x.value() > 0) - (x.value() < 0));
}

// The negative of the smallest integer is itself; unsigned arithmetic wraps without undefined behaviour.
template<typename T>
static T negated(T x) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(-static_cast<std::uint64_t>(x));
  else
    return -x;
}

template<typename T>
static T absolute(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return std::abs(x);
  else if constexpr (std::is_signed_v<T>)
    return x < 0 ? negated(x) : x;
  else
    return x;
}

template<typename T>
static T sign_of(T x) {
  if (x > T{0}) return T{1};
  if constexpr (std::is_signed_v<T>)
    if (x < T{0}) return T{-1};
  return x; // Zero or NaN.
}

static std::vector<OpDef> sign_functions() {
  return {
      number_function("abs", known_abs, [](auto x) { return absolute(x); }),
      number_function(
          "neg", [](const Dim& x) { return std::optional(Dim(0) - x); }, [](auto x) { return negated(x); }),
      number_function("sign", known_sign, [](auto x) { return sign_of(x); }),
  };
}

std::vector<OpDef> unary_ops() {
  std::vector<OpDef> result = exponential_functions();
  for (auto&& family : {trigonometric_functions(), rounding_functions(), sign_functions()})
    result.insert(result.end(), family.begin(), family.end());
  return result;
}

} // namespace lanner::ops
