// Operators that ONNX Runtime's optimiser writes (domain com.microsoft), by their documented definitions.

#include <lanner/error.h>

#include "importers/onnx/rules.h"

namespace lanner::onnx {
namespace {

void activation(RuleContext& context, Value* x) {
  const std::string kind = context.string("activation", "");
  if (kind.empty()) return context.set_output(0, x);
  const std::vector<double> numbers = context.reals("activation_params");
  AttributeMap attributes;
  if (kind == "LeakyRelu" && !numbers.empty()) attributes.set("alpha", numbers[0]);
  if (kind == "Clip") {
    check(numbers.size() == 2, ErrorCode::bad_data, "activation Clip needs two parameters, {} are given",
          numbers.size());
    const DType type = x->type.dtype();
    return context.set_output(
        0, context.emit("clip", {x, context.scalar(type, numbers[0]), context.scalar(type, numbers[1])}));
  }
  context.set_output(0, context.emit(snake_case(kind), {x}, std::move(attributes)));
}

void fused_conv(RuleContext& context) {
  std::vector<Value*> inputs = context.all_inputs();
  Value* residual = inputs.size() > 3 ? inputs[3] : nullptr;
  inputs.resize(std::min<std::size_t>(inputs.size(), 3));
  Value* y = context.emit("conv", inputs, context.attributes("conv", {"activation", "activation_params"}));
  activation(context, residual ? context.emit("add", {y, residual}) : y);
}

void gelu(RuleContext& context) {
  AttributeMap attributes;
  if (context.node.op == "FastGelu") attributes.set("approximate", std::string("tanh"));
  Value* x = context.required(0);
  if (context.has(1)) x = context.emit("add", {x, context.input(1)});
  context.set_output(0, context.emit("gelu", {x}, std::move(attributes)));
}

} // namespace

void add_microsoft_rules(Rules& rules) {
  rules["com.microsoft.FusedConv"] = fused_conv;
  rules["com.microsoft.Gelu"] = rules["com.microsoft.BiasGelu"] = rules["com.microsoft.FastGelu"] = gelu;
}

} // namespace lanner::onnx
