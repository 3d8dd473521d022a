// Arithmetic and activations of older versions.

#include <limits>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/onnx/rules.h"

namespace lanner::onnx {
namespace {

/// Before version 7 a second operand was broadcast from `axis` on, and only with the attribute `broadcast`.
void legacy_binary(RuleContext& context) {
  const std::string op = snake_case(context.node.op);
  if (context.version >= 7) return direct(context);
  Value *a = context.required(0), *b = context.required(1);
  if (context.integer("broadcast", 0) != 0 && context.has_attribute("axis")) {
    check(a->type.ranked() && b->type.ranked(), ErrorCode::unsupported,
          "broadcasting along an axis needs known ranks");
    const auto rank = static_cast<std::int64_t>(a->type.rank()),
               own = static_cast<std::int64_t>(b->type.rank());
    const std::int64_t given = context.integer("axis", 0), axis = given < 0 ? given + rank : given;
    check(axis >= 0 && axis <= rank && own <= rank - axis, ErrorCode::bad_data,
          "axis {} for operands of rank {} and {}", given, rank, own);
    std::vector<std::int64_t> trailing;
    for (std::int64_t d = axis + own; d < rank; ++d) trailing.push_back(d - axis);
    if (!trailing.empty()) b = context.emit("unsqueeze", {b, context.ints(trailing)});
  }
  context.set_output(
      0, context.emit(op, {a, b}, context.attributes(op, {"axis", "broadcast", "consumed_inputs"})));
}

void without_consumed(RuleContext& context) {
  direct_as(context, snake_case(context.node.op), {"consumed_inputs"});
}

void clip(RuleContext& context) {
  if (context.version >= 11) return direct(context);
  Value* x = context.required(0);
  std::vector<Value*> inputs{x, nullptr, nullptr};
  if (context.has_attribute("min")) inputs[1] = context.scalar(x->type.dtype(), context.real("min", 0));
  if (context.has_attribute("max")) inputs[2] = context.scalar(x->type.dtype(), context.real("max", 0));
  while (!inputs.back()) inputs.pop_back();
  context.set_output(0, context.emit("clip", inputs));
}

/// Before version 13 these worked on a matrix: the dims before `axis` by the rest.
void softmax_family(RuleContext& context) {
  const std::string op = snake_case(context.node.op);
  AttributeMap attributes;
  if (context.version >= 13) {
    attributes.set("axis", context.integer("axis", -1));
    return context.set_output(0, context.emit(op, {context.required(0)}, std::move(attributes)));
  }
  Value* x = context.required(0);
  const std::int64_t axis = context.integer("axis", 1);
  attributes.set("axis", std::int64_t{-1});
  const bool is_last = x->type.ranked() && axis == static_cast<std::int64_t>(x->type.rank()) - 1;
  if (is_last || axis == -1) return context.set_output(0, context.emit(op, {x}, std::move(attributes)));
  AttributeMap flatten;
  flatten.set("axis", axis);
  Value* matrix = context.emit("flatten", {x}, std::move(flatten));
  Value* result = context.emit(op, {matrix}, std::move(attributes));
  AttributeMap reshape;
  reshape.set("allowzero", std::int64_t{1});
  context.set_output(0, context.emit("reshape", {result, context.emit("shape", {x})}, std::move(reshape)));
}

void gemm(RuleContext& context) {
  direct_as(context, "gemm", {"broadcast"});
}

/// The first version's constants have fewer digits.
void selu(RuleContext& context) {
  if (context.version >= 6) return direct(context);
  AttributeMap attributes;
  attributes.set("alpha", context.real("alpha", 1.6732));
  attributes.set("gamma", context.real("gamma", 1.0507));
  context.set_output(0, context.emit("selu", {context.required(0)}, std::move(attributes)));
}

void prelu(RuleContext& context) {
  if (context.version >= 7) return without_consumed(context);
  Value *x = context.required(0), *slope = context.required(1);
  if (x->type.ranked() && slope->type.ranked() && slope->type.rank() == 1 && x->type.rank() > 2) {
    std::vector<std::int64_t> axes;
    for (std::size_t d = 1; d + 1 < x->type.rank(); ++d) axes.push_back(static_cast<std::int64_t>(d));
    slope = context.emit("unsqueeze", {slope, context.ints(axes)});
  }
  context.set_output(0, context.emit("prelu", {x, slope}));
}

/// Before version 20 the axis was an attribute.
void dft(RuleContext& context) {
  if (context.version >= 20) return direct(context);
  Value* axis = context.scalar(DType::i64, static_cast<double>(context.integer("axis", 1)));
  context.set_output(0, context.emit("dft", {context.required(0), context.input(1), axis},
                                     context.attributes("dft", {"axis"})));
}

} // namespace

void add_math_rules(Rules& rules) {
  for (const char* name : {"Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less"})
    rules[name] = legacy_binary;
  for (const char* name :
       {"Relu", "Sigmoid", "Tanh", "Exp", "Log", "Sqrt", "Abs", "Neg", "Reciprocal", "Floor", "Ceil", "Elu",
        "LeakyRelu", "HardSigmoid", "Max", "Min", "Mean", "Sum", "InstanceNormalization"})
    rules[name] = without_consumed;
  rules["Clip"] = clip;
  rules["Softmax"] = rules["LogSoftmax"] = rules["Hardmax"] = softmax_family;
  rules["DFT"] = dft;
  rules["Gemm"] = gemm;
  rules["Selu"] = selu;
  rules["PRelu"] = prelu;
}

} // namespace lanner::onnx
