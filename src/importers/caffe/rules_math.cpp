// Activations and arithmetic.

#include <lanner/error.h>

#include "base/check.h"
#include "importers/caffe/rules.h"

namespace lanner::caffe {
namespace {

Rule same(const char* op) {
  return [op](RuleContext& context) { context.set_output(0, context.emit(op, {context.required(0)})); };
}

Value* number(RuleContext& context, double value) {
  return context.scalar(DType::f32, value);
}

/// `shift + scale * x`, without the parts that have no effect.
Value* shifted(RuleContext& context) {
  Value* x = context.required(0);
  const double scale = context.real("scale", 1), shift = context.real("shift", 0);
  if (scale != 1) x = context.emit("mul", {x, number(context, scale)});
  if (shift != 0) x = context.emit("add", {x, number(context, shift)});
  return x;
}

void relu(RuleContext& context) {
  const double slope = context.real("negative_slope", 0);
  Value* x = context.required(0);
  context.set_output(0, slope == 0 ? context.emit("relu", {x})
                                   : context.emit("leaky_relu", {x}, with("alpha", slope)));
}

void prelu(RuleContext& context) {
  const std::size_t rank = rank_of(context);
  check(rank >= 2, ErrorCode::bad_data, "expected an input with channels");
  if (context.integer("channel_shared", 0) != 0)
    return context.set_output(0, context.emit("prelu", {context.required(0), blob(context, 0, Shape{1})}));
  Value* slope = blob(context, 0, Shape{blob(context, 0).elements()});
  context.set_output(0, context.emit("prelu", {context.required(0), unsqueezed(context, slope, rank - 2)}));
}

void elu(RuleContext& context) {
  context.set_output(0, context.emit("elu", {context.required(0)}, with("alpha", context.real("alpha", 1))));
}

void softmax(RuleContext& context) {
  context.set_output(
      0, context.emit("softmax", {context.required(0)}, with("axis", axis_of(context, "axis", 1))));
}

void power(RuleContext& context) {
  Value* x = shifted(context);
  const double exponent = context.real("power", 1);
  if (exponent != 1) x = context.emit("pow", {x, number(context, exponent)});
  context.set_output(0, x);
}

/// A base of -1 stands for e.
double base_of(const RuleContext& context) {
  const double base = context.real("base", -1);
  check(base == -1 || base > 0, ErrorCode::bad_data, "base is {}, expected a positive one or -1", base);
  return base;
}

void exponential(RuleContext& context) {
  const double base = base_of(context);
  Value* x = shifted(context);
  context.set_output(0,
                     base == -1 ? context.emit("exp", {x}) : context.emit("pow", {number(context, base), x}));
}

void logarithm(RuleContext& context) {
  const double base = base_of(context);
  Value* y = context.emit("log", {shifted(context)});
  if (base != -1) y = context.emit("div", {y, context.emit("log", {number(context, base)})});
  context.set_output(0, y);
}

/// Caffe does not broadcast.
void require_same_sizes(const Type& first, const Type& other) {
  if (!first.ranked() || !other.ranked()) return;
  bool same = first.rank() == other.rank();
  for (std::size_t d = 0; same && d < first.rank(); ++d) {
    const auto a = first.dims()[d].constant(), b = other.dims()[d].constant();
    same = !a || !b || *a == *b;
  }
  check(same, ErrorCode::bad_data, "inputs {} and {}; expected equal sizes", first.to_string(),
        other.to_string());
}

void eltwise(RuleContext& context) {
  static constexpr const char* operations[] = {"mul", "add", "max"};
  const std::int64_t operation = context.integer("operation", 1);
  check(operation >= 0 && operation <= 2, ErrorCode::bad_data, "operation {}; expected PROD, SUM or MAX",
        operation);
  const std::vector<double> factors = context.reals("coeff");
  check(factors.empty() || factors.size() == context.inputs(), ErrorCode::bad_data,
        "{} coefficients for {} inputs", factors.size(), context.inputs());
  check(factors.empty() || operation == 1, ErrorCode::bad_data,
        "coefficients are for operation SUM, it is {}", operation == 0 ? "PROD" : "MAX");
  check(context.inputs() >= 1, ErrorCode::bad_data, "it has no inputs");
  Value* result = nullptr;
  for (std::size_t i = 0; i < context.inputs(); ++i) {
    Value* x = context.required(i);
    require_same_sizes(context.required(0)->type, x->type);
    if (operation == 1 && !factors.empty() && factors[i] != 1)
      x = context.emit("mul", {x, number(context, factors[i])});
    result = result ? context.emit(operations[operation], {result, x}) : x;
  }
  context.set_output(0, result);
}

void threshold(RuleContext& context) {
  Value* above =
      context.emit("greater", {context.required(0), number(context, context.real("threshold", 0))});
  context.set_output(0, context.emit("cast", {above}, with("to", DType::f32)));
}

void clip(RuleContext& context) {
  check(context.has_attribute("min") && context.has_attribute("max"), ErrorCode::bad_data,
        "expected both min and max");
  context.set_output(0, context.emit("clip", {context.required(0), number(context, context.real("min", 0)),
                                              number(context, context.real("max", 0))}));
}

} // namespace

void add_math_rules(Rules& rules) {
  rules["ReLU"] = relu;
  rules["PReLU"] = prelu;
  rules["ELU"] = elu;
  rules["Softmax"] = softmax;
  rules["Power"] = power;
  rules["Exp"] = exponential;
  rules["Log"] = logarithm;
  rules["Eltwise"] = eltwise;
  rules["Threshold"] = threshold;
  rules["Clip"] = clip;
  rules["Sigmoid"] = same("sigmoid");
  rules["TanH"] = same("tanh");
  rules["AbsVal"] = same("abs");
  rules["BNLL"] = same("softplus");
}

} // namespace lanner::caffe
