// Functions of real numbers that are made of several operators: zeros and small arguments keep their
// accuracy.

#include <numbers>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/tensorflow/rules/rules.h"

namespace lanner::tensorflow {
namespace {

Value* is_zero(RuleContext& context, Value* x) {
  return context.emit("equal", {x, number_like(context, x, 0)});
}

/// log(1 + x), corrected for the rounding of 1 + x.
Value* log1p(RuleContext& context, Value* x) {
  Value* one = number_like(context, x, 1);
  Value* sum = context.emit("add", {x, one});
  Value* step = context.emit("sub", {sum, one});
  Value* log = context.emit("log", {sum});
  Value* corrected = context.emit("mul", {log, context.emit("div", {x, step})});
  Value* small = context.emit("where", {context.emit("equal", {sum, one}), x, corrected});
  // x / x is 1 except for an infinity.
  return context.emit("where", {context.emit("is_inf", {log}), log, small});
}

/// exp(x) - 1 by elu, which is that for negative x; for others it is exp(x) times 1 - exp(-x).
Value* expm1(RuleContext& context, Value* x) {
  Value* zero = number_like(context, x, 0);
  Value* above = context.emit("neg", {context.emit("mul", {context.emit("elu", {context.emit("neg", {x})}),
                                                           context.emit("exp", {x})})});
  return context.emit("where", {context.emit("greater", {x, zero}), above, context.emit("elu", {x})});
}

/// -x; where x is a product with -z, the product with z.
Value* opposite(RuleContext& context, Value* x) {
  const auto negated = [](const Value* value) {
    const Node* made = value->producer();
    return made && made->kind() == "neg" ? made->input(0) : nullptr;
  };
  const Node* product = x->producer();
  if (product && product->kind() == "mul")
    for (std::size_t i = 0; i < 2; ++i)
      if (Value* inner = negated(product->input(i)))
        return context.emit("mul", {inner, product->input(1 - i)});
  Value* inner = negated(x);
  return inner ? inner : context.emit("neg", {x});
}

constexpr const char* small_tails =
    "below the last digit of 1 it is 0: it is computed as 1 + erf(-x), as gelu needs it";

/// As 1 + erf(-x), the form in which gelu is recognised.
Value* erfc(RuleContext& context, Value* x) {
  return context.emit("add", {context.emit("erf", {opposite(context, x)}), number_like(context, x, 1)});
}

/// `value`, or 0 where `factor` is 0, whatever the value is there.
Value* unless_zero(RuleContext& context, Value* factor, Value* value) {
  return context.emit("where", {is_zero(context, factor), number_like(context, factor, 0), value});
}

Value* xlogy(RuleContext& context, Value* x, Value* y) {
  return unless_zero(context, x, context.emit("mul", {x, context.emit("log", {y})}));
}
Value* xlog1py(RuleContext& context, Value* x, Value* y) {
  return unless_zero(context, x, context.emit("mul", {x, log1p(context, y)}));
}
Value* xdivy(RuleContext& context, Value* x, Value* y) {
  return unless_zero(context, x, context.emit("div", {x, y}));
}
Value* mul_no_nan(RuleContext& context, Value* x, Value* y) {
  return unless_zero(context, y, context.emit("mul", {x, y}));
}

/// Negative, -0 included.
Value* signed_minus(RuleContext& context, Value* x) {
  Value* zero = number_like(context, x, 0);
  return context.emit(
      "or", {context.emit("less", {x, zero}), context.emit("less", {context.emit("reciprocal", {x}), zero})});
}

/// By the arc tangent of a number from 0 to 1: the smaller magnitude over the larger one.
Value* atan2(RuleContext& context, Value* y, Value* x) {
  Value *up = context.emit("abs", {y}), *along = context.emit("abs", {x});
  Value* zero = number_like(context, x, 0);
  Value* steep = context.emit("greater", {up, along});
  Value* ratio = context.emit(
      "div", {context.emit("where", {steep, along, up}), context.emit("where", {steep, up, along})});
  // Equal magnitudes may be zeros or infinities.
  Value* diagonal = context.emit("where", {is_zero(context, up), zero, number_like(context, x, 1)});
  ratio = context.emit("where", {context.emit("equal", {up, along}), diagonal, ratio});
  const auto from = [&](double angle, Value* rest) {
    return context.emit("sub", {number_like(context, x, angle), rest});
  };
  Value* angle = context.emit("atan", {ratio});
  angle = context.emit("where", {steep, from(std::numbers::pi / 2, angle), angle});
  angle = context.emit("where", {signed_minus(context, x), from(std::numbers::pi, angle), angle});
  return context.emit("where", {signed_minus(context, y), context.emit("neg", {angle}), angle});
}

void approximate_equal(RuleContext& context) {
  Value* x = context.required(0);
  Value* distance = context.emit("abs", {context.emit("sub", {x, context.required(1)})});
  context.set_output(
      0, context.emit("less", {distance, number_like(context, x, context.real("tolerance", 1e-5))}));
}

/// Half the sum of squares.
void l2_loss(RuleContext& context) {
  Value* x = context.required(0);
  Value* sum = context.emit("reduce_sum_square", {x}, with("keepdims", std::int64_t{0}));
  context.set_output(0, context.emit("mul", {sum, number_like(context, x, 0.5)}));
}

template<auto make>
void unary(RuleContext& context) {
  context.set_output(0, make(context, context.required(0)));
}
template<auto make>
void binary(RuleContext& context) {
  context.set_output(0, make(context, context.required(0), context.required(1)));
}

} // namespace

void add_special_rules(Rules& rules) {
  rules["Log1p"] = unary<log1p>;
  rules["Expm1"] = unary<expm1>;
  rules["Erfc"] = {unary<erfc>, {}, {small_tails}};
  rules["Xlogy"] = binary<xlogy>;
  rules["Xlog1py"] = binary<xlog1py>;
  rules["Xdivy"] = binary<xdivy>;
  rules["MulNoNan"] = binary<mul_no_nan>;
  rules["Atan2"] = binary<atan2>;
  rules["ApproximateEqual"] = approximate_equal;
  rules["L2Loss"] = l2_loss;
}

} // namespace lanner::tensorflow
