// Operators that TensorFlow's own optimiser makes of a product and what follows it.

#include <optional>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/tensorflow/rules/layer_parts.h"

namespace lanner::tensorflow {
namespace {

constexpr const char* unknown_step =
    "a fused step other than BiasAdd, FusedBatchNorm, Add or an activation; save the model before TensorFlow "
    "optimises it";
constexpr const char* quantized_convolution =
    "a convolution of 8-bit integers; convert the model with real numbers and give its ranges by "
    "QuantizeAndDequantize";

/// The value after an activation of that name; null where there is no such activation.
Value* activated(RuleContext& context, Value* x, const std::string& name) {
  if (name == "Relu6") return relu6_of(context, x);
  if (name == "Relu") return context.emit("relu", {x});
  if (name == "Elu") return context.emit("elu", {x});
  if (name == "Tanh") return context.emit("tanh", {x});
  if (name == "Sigmoid") return context.emit("sigmoid", {x});
  if (name == "LeakyRelu")
    return context.emit("leaky_relu", {x}, with("alpha", context.real("leakyrelu_alpha", 0.2)));
  if (name == "GeluExact") return context.emit("gelu", {x});
  if (name == "GeluApproximate") return context.emit("gelu", {x}, with("approximate", std::string("tanh")));
  return nullptr;
}

/// Applies the steps of attribute fused_ops, whose operands are the inputs from 2 on.
Value* finished(RuleContext& context, Value* y) {
  std::size_t operand = 2;
  const auto steps = context.attribute("fused_ops")
                         ? context.get<std::vector<std::string>>("fused_ops", "names of operators")
                         : std::vector<std::string>{};
  for (const std::string& step : steps) {
    if (step == "BiasAdd") {
      y = with_bias(context, y, context.required(operand++));
    } else if (step == "FusedBatchNorm") {
      y = batch_norm_of(context, y, operand);
      operand += 4;
    } else if (step == "Add") {
      y = context.emit("add", {y, context.required(operand++)});
    } else {
      y = activated(context, y, step);
      check(y != nullptr, ErrorCode::unsupported, "{}", unknown_step);
    }
  }
  return y;
}

void fused_convolution(RuleContext& context) {
  check(is_real(context.required(0)), ErrorCode::unsupported, "{}", quantized_convolution);
  context.set_output(0, finished(context, convolution_of(context, 2)));
}

void fused_depthwise(RuleContext& context) {
  context.set_output(0, finished(context, depthwise_of(context)));
}

void fused_product(RuleContext& context) {
  context.set_output(0, finished(context, product_of(context, "transpose_a", "transpose_b")));
}

/// Inputs from 5 on: at most one value that is added before the activation.
void fused_batch_norm(RuleContext& context) {
  Value* y = batch_norm_of(context, context.required(0), 1);
  if (context.integer("num_side_inputs", 0) != 0) y = context.emit("add", {y, context.required(5)});
  const std::string activation = context.string("activation_mode", "Identity");
  if (activation != "Identity") {
    y = activated(context, y, activation);
    check(y != nullptr, ErrorCode::unsupported, "{}", unknown_step);
  }
  context.set_output(0, y);
  for (std::size_t i = 1; i < context.node.outputs.size(); ++i)
    context.set_output(i, context.required(i % 2 == 1 ? 3 : 4));
}

/// activation(convolution * scale + side input * its scale + bias); without a side input that one is empty.
void biased_convolution(RuleContext& context) {
  check(is_real(context.required(0)), ErrorCode::unsupported, "{}", quantized_convolution);
  check(context.string("filter_format", "HWIO") == "HWIO", ErrorCode::unsupported,
        "filter_format other than HWIO");
  Value* y = convolution_of(context, 2);
  const auto scaled = [&](Value* value, std::size_t by) {
    return context.emit("mul", {value, cast(context, context.required(by), value->type.dtype())});
  };
  y = scaled(y, 4);
  Value* side = context.required(3);
  const auto first = known_size(side, 0);
  const bool has_side = side->type.ranked() && side->type.rank() == 4 && (!first || *first > 0);
  if (has_side) y = context.emit("add", {y, scaled(side, 5)});
  y = with_bias(context, y, context.required(2));
  const std::string activation = context.string("activation_mode", "Relu");
  if (activation != "None") y = activated(context, y, activation);
  check(y != nullptr, ErrorCode::unsupported, "{}", unknown_step);
  context.set_output(0, y);
}

} // namespace

void add_fused_rules(Rules& rules) {
  rules["_FusedConv2D"] = {fused_convolution, {unknown_step, quantized_convolution}};
  rules["_FusedDepthwiseConv2dNative"] = {fused_depthwise, {unknown_step}};
  rules["_FusedMatMul"] = {fused_product, {unknown_step}};
  rules["_FusedBatchNormEx"] = {fused_batch_norm, {unknown_step}};
  rules["FusedConv2DBiasActivation"] = {biased_convolution, {unknown_step, quantized_convolution}};
}

} // namespace lanner::tensorflow
