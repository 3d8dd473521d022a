// Arithmetic, comparisons, activations and products.

#include <lanner/error.h>

#include "base/check.h"
#include "importers/tensorflow/rules.h"

namespace lanner::tensorflow {
namespace {

bool is_integer_type(const Value* value) {
  const DType type = value->type.dtype();
  return type != DType::f32 && type != DType::f64 && type != DType::f16 && type != DType::bf16;
}

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
  if (is_integer_type(a)) return context.emit("mod", {a, b});
  Value* whole = context.emit("floor", {context.emit("div", {a, b})});
  return context.emit("sub", {a, context.emit("mul", {whole, b})});
}

/// Our integer division rounds towards zero, TensorFlow's towards minus infinity.
Value* floor_div(RuleContext& context, Value* a, Value* b) {
  if (!is_integer_type(a)) return context.emit("floor", {context.emit("div", {a, b})});
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
Value* log1p(RuleContext& context, Value* x) {
  return context.emit("log", {context.emit("add", {x, context.scalar(x->type.dtype(), 1)})});
}
Value* expm1(RuleContext& context, Value* x) {
  return context.emit("sub", {context.emit("exp", {x}), context.scalar(x->type.dtype(), 1)});
}
Value* is_finite(RuleContext& context, Value* x) {
  // x - x is NaN, and so not equal to itself, exactly where x is infinite or NaN.
  return context.emit("not", {context.emit("is_nan", {context.emit("sub", {x, x})})});
}
Value* relu6(RuleContext& context, Value* x) {
  return context.emit("clip", {x, context.scalar(x->type.dtype(), 0), context.scalar(x->type.dtype(), 6)});
}
Value* selu(RuleContext& context, Value* x) {
  return context.emit("selu", {x});
}
Value* erfc(RuleContext& context, Value* x) {
  return context.emit("sub", {context.scalar(x->type.dtype(), 1), context.emit("erf", {x})});
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

Rule product(const char* turn_a, const char* turn_b) {
  return [turn_a, turn_b](RuleContext& context) {
    Value* a = context.integer(turn_a, 0) ? transposed_input(context, 0) : context.required(0);
    Value* b = context.integer(turn_b, 0) ? transposed_input(context, 1) : context.required(1);
    context.set_output(0, context.emit("matmul", {a, b}));
  };
}

void einsum(RuleContext& context) {
  context.set_output(
      0, context.emit("einsum", context.all_inputs(), with("equation", context.string("equation", ""))));
}

void cast_rule(RuleContext& context) {
  context.set_output(0, context.emit("cast", {context.required(0)}, with("to", context.dtype("DstT"))));
}

void clip_by_value(RuleContext& context) {
  Value* below = context.emit("min", {context.required(0), context.required(2)});
  context.set_output(0, context.emit("max", {below, context.required(1)}));
}

/// Operators that have one with the same meaning.
constexpr std::pair<const char*, const char*> same_operators[] = {{"Add", "add"},
                                                                  {"AddV2", "add"},
                                                                  {"Sub", "sub"},
                                                                  {"Mul", "mul"},
                                                                  {"RealDiv", "div"},
                                                                  {"Div", "div"},
                                                                  {"TruncateDiv", "div"},
                                                                  {"Maximum", "max"},
                                                                  {"Minimum", "min"},
                                                                  {"Pow", "pow"},
                                                                  {"AddN", "sum"},
                                                                  {"Equal", "equal"},
                                                                  {"Greater", "greater"},
                                                                  {"Less", "less"},
                                                                  {"GreaterEqual", "greater_or_equal"},
                                                                  {"LogicalAnd", "and"},
                                                                  {"LogicalOr", "or"},
                                                                  {"LessEqual", "less_or_equal"},
                                                                  {"LogicalXor", "xor"},
                                                                  {"LogicalNot", "not"},
                                                                  {"Relu", "relu"},
                                                                  {"Elu", "elu"},
                                                                  {"Sigmoid", "sigmoid"},
                                                                  {"Tanh", "tanh"},
                                                                  {"Softplus", "softplus"},
                                                                  {"Softsign", "softsign"},
                                                                  {"Erf", "erf"},
                                                                  {"Sqrt", "sqrt"},
                                                                  {"Exp", "exp"},
                                                                  {"Log", "log"},
                                                                  {"Neg", "neg"},
                                                                  {"Abs", "abs"},
                                                                  {"Floor", "floor"},
                                                                  {"Ceil", "ceil"},
                                                                  {"Round", "round"},
                                                                  {"Rint", "round"},
                                                                  {"Sign", "sign"},
                                                                  {"Reciprocal", "reciprocal"},
                                                                  {"Inv", "reciprocal"},
                                                                  {"Sin", "sin"},
                                                                  {"Cos", "cos"},
                                                                  {"Tan", "tan"},
                                                                  {"Asin", "asin"},
                                                                  {"Acos", "acos"},
                                                                  {"Atan", "atan"},
                                                                  {"Sinh", "sinh"},
                                                                  {"Cosh", "cosh"},
                                                                  {"Asinh", "asinh"},
                                                                  {"Acosh", "acosh"},
                                                                  {"Atanh", "atanh"},
                                                                  {"IsNan", "is_nan"},
                                                                  {"IsInf", "is_inf"}};

} // namespace

void add_math_rules(Rules& rules) {
  for (const auto& [name, op] : same_operators) rules[name] = same(op);
  rules["FloorDiv"] = binary<floor_div>;
  rules["FloorMod"] = binary<floor_mod>;
  rules["Mod"] = rules["TruncateMod"] = binary<truncate_mod>;
  rules["DivNoNan"] = binary<div_no_nan>;
  rules["SquaredDifference"] = binary<squared_difference>;
  rules["NotEqual"] = binary<not_equal>;
  rules["Rsqrt"] = unary<rsqrt>;
  rules["Square"] = unary<square>;
  rules["Log1p"] = unary<log1p>;
  rules["Expm1"] = unary<expm1>;
  rules["IsFinite"] = unary<is_finite>;
  rules["Relu6"] = unary<relu6>;
  rules["Selu"] = unary<selu>;
  rules["Erfc"] = unary<erfc>;
  rules["LeakyRelu"] = leaky_relu;
  rules["Softmax"] = along_last("softmax");
  rules["LogSoftmax"] = along_last("log_softmax");
  rules["MatMul"] = product("transpose_a", "transpose_b");
  rules["BatchMatMul"] = rules["BatchMatMulV2"] = rules["BatchMatMulV3"] = product("adj_x", "adj_y");
  rules["Einsum"] = einsum;
  rules["Cast"] = cast_rule;
  rules["ClipByValue"] = clip_by_value;
}

} // namespace lanner::tensorflow
