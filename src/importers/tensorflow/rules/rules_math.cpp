// Arithmetic, comparisons, activations and products.

#include <lanner/error.h>

#include "base/check.h"
#include "importers/tensorflow/rules/layer_parts.h"

namespace lanner::tensorflow {
namespace {

/// A rule from a function that computes the result from the first two inputs.
template<auto make>
void binary(RuleContext& context) {
  context.set_output(0, make(context, context.required(0), context.required(1)));
}
template<auto make>
void unary(RuleContext& context) {
  context.set_output(0, make(context, context.required(0)));
}

Value* floor_mod(RuleContext& context, Value* a, Value* b) {
  if (!is_real(a)) return context.emit("mod", {a, b});
  // The remainder has the sign of `a`; where that differs from b's, it is moved by b.
  Value* rest = context.emit("mod", {a, b}, with("fmod", std::int64_t{1}));
  Value* zero = number_like(context, a, 0);
  Value* differs = context.emit("xor", {context.emit("less", {b, zero}), context.emit("less", {rest, zero})});
  Value* moved = context.emit("and", {differs, context.emit("not", {context.emit("equal", {rest, zero})})});
  return context.emit("where", {moved, context.emit("add", {rest, b}), rest});
}

/// Our integer division rounds towards zero, TensorFlow's towards minus infinity.
Value* floor_div(RuleContext& context, Value* a, Value* b) {
  if (is_real(a)) return context.emit("floor", {context.emit("div", {a, b})});
  return context.emit("div", {context.emit("sub", {a, context.emit("mod", {a, b})}), b});
}

Value* truncate_mod(RuleContext& context, Value* a, Value* b) {
  return context.emit("mod", {a, b}, with("fmod", std::int64_t{1}));
}

Value* div_no_nan(RuleContext& context, Value* a, Value* b) {
  Value* zero = context.scalar(a->type.dtype(), 0);
  return context.emit("where", {context.emit("equal", {b, zero}), zero, context.emit("div", {a, b})});
}

Value* squared_difference(RuleContext& context, Value* a, Value* b) {
  Value* difference = context.emit("sub", {a, b});
  return context.emit("mul", {difference, difference});
}

Value* not_equal(RuleContext& context, Value* a, Value* b) {
  return context.emit("not", {context.emit("equal", {a, b})});
}

Value* rsqrt(RuleContext& context, Value* x) {
  return context.emit("reciprocal", {context.emit("sqrt", {x})});
}
Value* square(RuleContext& context, Value* x) {
  return context.emit("mul", {x, x});
}
Value* is_finite(RuleContext& context, Value* x) {
  // x - x is NaN, and so not equal to itself, exactly where x is infinite or NaN.
  return context.emit("not", {context.emit("is_nan", {context.emit("sub", {x, x})})});
}
/// In f64 composed, because the operator's constants are of f32.
Value* selu(RuleContext& context, Value* x) {
  if (x->type.dtype() != DType::f64) return context.emit("selu", {x});
  constexpr double alpha = 1.6732632423543772848170429916717, scale = 1.0507009873554804934193349852946;
  Value* below = context.emit("mul", {context.emit("elu", {x}), number_like(context, x, alpha)});
  Value* positive = context.emit("greater", {x, number_like(context, x, 0)});
  return context.emit("mul", {context.emit("where", {positive, x, below}), number_like(context, x, scale)});
}
constexpr const char* whole_rounded = "integers stay as they are; TensorFlow 2.21's own kernel gives 0 for "
                                      "them, though tf.round never asks it to";

Value* rounded(RuleContext& context, Value* x) {
  return is_real(x) ? context.emit("round", {x}) : x;
}

void leaky_relu(RuleContext& context) {
  context.set_output(
      0, context.emit("leaky_relu", {context.required(0)}, with("alpha", context.real("alpha", 0.2))));
}

Rule along_last(const char* op) {
  return [op](RuleContext& context) {
    context.set_output(0, context.emit(op, {context.required(0)}, with("axis", std::int64_t{-1})));
  };
}

Value* transposed_input(RuleContext& context, std::size_t i) {
  const std::size_t rank = rank_of(context, i);
  check(rank >= 2, ErrorCode::bad_data, "input {} is of rank {}; expected a matrix", i, rank);
  std::vector<std::int64_t> order(rank);
  for (std::size_t d = 0; d < rank; ++d) order[d] = static_cast<std::int64_t>(d);
  std::swap(order[rank - 1], order[rank - 2]);
  return transpose(context, context.required(i), std::move(order));
}

/// Narrow integers are multiplied as i32.
Value* multiplied(RuleContext& context, Value* value) {
  return bit_width(value->type.dtype()) < 32 && !is_real(value) ? cast(context, value, DType::i32) : value;
}

Rule product(const char* turn_a, const char* turn_b) {
  return [=](RuleContext& context) { context.set_output(0, product_of(context, turn_a, turn_b)); };
}

void einsum(RuleContext& context) {
  context.set_output(
      0, context.emit("einsum", context.all_inputs(), with("equation", context.string("equation", ""))));
}

constexpr const char* truncating_cast =
    "Truncate: digits that the new type lacks are rounded, not cut off; leave the attribute out";

void cast_rule(RuleContext& context) {
  check(context.integer("Truncate", 0) == 0, ErrorCode::unsupported, "{}", truncating_cast);
  context.set_output(0, context.emit("cast", {context.required(0)}, with("to", context.dtype("DstT"))));
}

void clip_by_value(RuleContext& context) {
  Value* below = context.emit("min", {context.required(0), context.required(2)});
  context.set_output(0, context.emit("max", {below, context.required(1)}));
}

/// Operators that have one with the same meaning.
constexpr std::pair<const char*, const char*> same_operators[] = {
    {"Add", "add"},           {"AddV2", "add"},         {"Sub", "sub"},
    {"Mul", "mul"},           {"RealDiv", "div"},       {"Div", "div"},
    {"TruncateDiv", "div"},   {"Maximum", "max"},       {"Minimum", "min"},
    {"Pow", "pow"},           {"AddN", "sum"},          {"Equal", "equal"},
    {"Greater", "greater"},   {"Less", "less"},         {"GreaterEqual", "greater_or_equal"},
    {"LogicalAnd", "and"},    {"LogicalOr", "or"},      {"LessEqual", "less_or_equal"},
    {"LogicalXor", "xor"},    {"LogicalNot", "not"},    {"Relu", "relu"},
    {"Elu", "elu"},           {"Sigmoid", "sigmoid"},   {"Tanh", "tanh"},
    {"Softplus", "softplus"}, {"Softsign", "softsign"}, {"Erf", "erf"},
    {"Sqrt", "sqrt"},         {"Exp", "exp"},           {"Log", "log"},
    {"Neg", "neg"},           {"Abs", "abs"},           {"Floor", "floor"},
    {"Ceil", "ceil"},         {"Sign", "sign"},         {"Reciprocal", "reciprocal"},
    {"Inv", "reciprocal"},    {"Sin", "sin"},           {"Cos", "cos"},
    {"Tan", "tan"},           {"Asin", "asin"},         {"Acos", "acos"},
    {"Atan", "atan"},         {"Sinh", "sinh"},         {"Cosh", "cosh"},
    {"Asinh", "asinh"},       {"Acosh", "acosh"},       {"Atanh", "atanh"},
    {"IsNan", "is_nan"},      {"IsInf", "is_inf"}};

} // namespace

Value* product_of(RuleContext& context, const char* turn_a, const char* turn_b) {
  Value* a = context.integer(turn_a, 0) ? transposed_input(context, 0) : context.required(0);
  Value* b = context.integer(turn_b, 0) ? transposed_input(context, 1) : context.required(1);
  const DType type = context.has_attribute("Tout") ? context.dtype("Tout") : a->type.dtype();
  return cast(context, context.emit("matmul", {multiplied(context, a), multiplied(context, b)}), type);
}

Value* relu6_of(RuleContext& context, Value* x) {
  return context.emit("clip", {x, number_like(context, x, 0), number_like(context, x, 6)});
}

void add_math_rules(Rules& rules) {
  for (const auto& [name, op] : same_operators) rules[name] = same(op);
  rules["AccumulateNV2"] = same("sum");
  rules["FloorDiv"] = binary<floor_div>;
  rules["FloorMod"] = binary<floor_mod>;
  rules["Mod"] = rules["TruncateMod"] = binary<truncate_mod>;
  rules["DivNoNan"] = binary<div_no_nan>;
  rules["SquaredDifference"] = binary<squared_difference>;
  rules["NotEqual"] = binary<not_equal>;
  rules["Rsqrt"] = unary<rsqrt>;
  rules["Square"] = unary<square>;
  rules["Rint"] = unary<rounded>;
  rules["Round"] = {unary<rounded>, {}, {whole_rounded}};
  rules["IsFinite"] = unary<is_finite>;
  rules["Relu6"] = unary<relu6_of>;
  rules["Selu"] = unary<selu>;
  rules["LeakyRelu"] = leaky_relu;
  rules["Softmax"] = along_last("softmax");
  rules["LogSoftmax"] = along_last("log_softmax");
  rules["MatMul"] = product("transpose_a", "transpose_b");
  rules["BatchMatMul"] = rules["BatchMatMulV2"] = rules["BatchMatMulV3"] = product("adj_x", "adj_y");
  rules["Einsum"] = einsum;
  rules["Cast"] = {cast_rule, {truncating_cast}};
  rules["ClipByValue"] = clip_by_value;
}

} // namespace lanner::tensorflow
