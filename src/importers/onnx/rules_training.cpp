// One step of an optimiser (domain ai.onnx.preview.training), by the formulas of its definition.

#include <lanner/error.h>

#include "base/check.h"
#include "importers/onnx/rules.h"

namespace lanner::onnx {
namespace {

/// Inputs are the rate, the step number, then `groups` lists of equally many tensors.
class Step {
public:
  Step(RuleContext& context, std::size_t groups) : context_(context) {
    check(context.inputs() >= 2 + groups && (context.inputs() - 2) % groups == 0, ErrorCode::bad_data,
          "{} inputs, expected 2 and a multiple of {}", context.inputs(), groups);
    count_ = (context.inputs() - 2) / groups;
  }
  std::size_t count() const { return count_; }
  Value* of(std::size_t group, std::size_t i) { return context_.required(2 + group * count_ + i); }
  void give(std::size_t group, std::size_t i, Value* value) {
    context_.set_output(group * count_ + i, value);
  }
  /// The rate or the step number in the type of `like`.
  Value* rate(Value* like) { return as(context_.required(0), like); }
  Value* number(Value* like) { return as(context_.required(1), like); }

  Value* add(Value* a, Value* b) { return context_.emit("add", {a, b}); }
  Value* sub(Value* a, Value* b) { return context_.emit("sub", {a, b}); }
  Value* mul(Value* a, Value* b) { return context_.emit("mul", {a, b}); }
  Value* div(Value* a, Value* b) { return context_.emit("div", {a, b}); }
  Value* root(Value* a) { return context_.emit("sqrt", {a}); }
  Value* pow(Value* a, Value* b) { return context_.emit("pow", {a, b}); }
  Value* times(double factor, Value* a) { return mul(constant(factor, a), a); }
  Value* constant(double value, Value* like) { return context_.scalar(like->type.dtype(), value); }
  /// `then` from the first step on, `otherwise` before it.
  Value* if_begun(Value* then, Value* otherwise) {
    Value* begun = context_.emit(
        "greater", {context_.required(1), context_.scalar(context_.required(1)->type.dtype(), 0)});
    return context_.emit("where", {begun, then, otherwise});
  }
  Value* regularized(Value* x, Value* gradient) {
    return add(times(context_.real("norm_coefficient", 0), x), gradient);
  }

private:
  Value* as(Value* value, Value* like) {
    AttributeMap to;
    to.set("to", like->type.dtype());
    return context_.emit("cast", {value}, to);
  }
  RuleContext& context_;
  std::size_t count_;
};

void adagrad(RuleContext& context) {
  Step step(context, 3);
  for (std::size_t i = 0; i < step.count(); ++i) {
    Value* x = step.of(0, i);
    Value* decay = step.add(step.constant(1, x), step.times(context.real("decay_factor", 0), step.number(x)));
    Value* gradient = step.regularized(x, step.of(1, i));
    Value* sum = step.add(step.of(2, i), step.mul(gradient, gradient));
    Value* scale = step.add(step.root(sum), step.constant(context.real("epsilon", 0), x));
    step.give(0, i, step.sub(x, step.div(step.mul(step.div(step.rate(x), decay), gradient), scale)));
    step.give(1, i, sum);
  }
}

void adam(RuleContext& context) {
  Step step(context, 4);
  const double alpha = context.real("alpha", 0.9), beta = context.real("beta", 0.999);
  for (std::size_t i = 0; i < step.count(); ++i) {
    Value* x = step.of(0, i);
    const auto less = [&](double base) {
      return step.sub(step.constant(1, x), step.pow(step.constant(base, x), step.number(x)));
    };
    Value* gradient = step.regularized(x, step.of(1, i));
    Value* mean = step.add(step.times(alpha, step.of(2, i)), step.times(1 - alpha, gradient));
    Value* square =
        step.add(step.times(beta, step.of(3, i)), step.times(1 - beta, step.mul(gradient, gradient)));
    Value* scale = step.add(step.root(square), step.constant(context.real("epsilon", 0), x));
    Value* rate =
        step.if_begun(step.div(step.mul(step.rate(x), step.root(less(beta))), less(alpha)), step.rate(x));
    Value* moved = step.sub(x, step.div(step.mul(rate, mean), scale));
    step.give(0, i, step.times(1 - context.real("norm_coefficient_post", 0), moved));
    step.give(1, i, mean);
    step.give(2, i, square);
  }
}

void momentum(RuleContext& context) {
  Step step(context, 3);
  const std::string mode = context.string("mode", "standard");
  check(mode == "standard" || mode == "nesterov", ErrorCode::bad_data,
        "attribute mode: '{}', expected standard or nesterov", mode);
  const double alpha = context.real("alpha", 0), beta = context.real("beta", 0);
  for (std::size_t i = 0; i < step.count(); ++i) {
    Value* x = step.of(0, i);
    Value* gradient = step.regularized(x, step.of(1, i));
    Value* share = step.if_begun(step.constant(beta, x), step.constant(1, x));
    Value* velocity = step.add(step.times(alpha, step.of(2, i)), step.mul(share, gradient));
    Value* direction = mode == "standard" ? velocity : step.add(gradient, step.times(alpha, velocity));
    step.give(0, i, step.sub(x, step.mul(step.rate(x), direction)));
    step.give(1, i, velocity);
  }
}

} // namespace

void add_training_rules(Rules& rules) {
  rules["ai.onnx.preview.training.Adagrad"] = adagrad;
  rules["ai.onnx.preview.training.Adam"] = adam;
  rules["ai.onnx.preview.training.Momentum"] = momentum;
}

} // namespace lanner::onnx
