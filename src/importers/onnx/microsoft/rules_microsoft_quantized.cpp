// Operators on quantised tensors that ONNX Runtime's quantiser and optimisers write: each dequantises, runs
// the operator and quantises, as its documentation says (docs/ContribOperators.md).

#include <algorithm>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/onnx/emitter.h"
#include "importers/onnx/rules.h"

namespace lanner::onnx {
namespace {

/// Per-tensor scales and zero points may be lists of one element.
Value* whole(RuleContext& context, Value* parameter) {
  if (!parameter || !parameter->type.ranked() || parameter->type.rank() == 0) return parameter;
  return Emitter(context).scalar_of(parameter);
}

/// Dequantises input `i` by the scale and the optional zero point that follow it.
Value* real(RuleContext& context, std::size_t i) {
  return Emitter(context)("dequantize_linear", {context.required(i), whole(context, context.required(i + 1)),
                                                whole(context, context.input(i + 2))});
}

/// Quantises `x` to `type` by the scale at input `i` and the zero point after it.
Value* quantized(RuleContext& context, Value* x, std::size_t i, DType type) {
  Emitter emit(context);
  Value *scale = whole(context, context.required(i)), *zero = whole(context, context.input(i + 1));
  if (zero) return emit("quantize_linear", {x, scale, zero});
  return emit("quantize_linear", {x, scale}, {{"output_dtype", type}});
}

DType stored(RuleContext& context, std::size_t i) {
  return context.required(i)->type.dtype();
}

/// Operator `op` on inputs 0 to 2 and 3 to 5, quantised by 6 and 7.
Rule binary(const char* op) {
  return [op](RuleContext& context) {
    Value* y = context.emit(op, {real(context, 0), real(context, 3)});
    context.set_output(0, quantized(context, y, 6, stored(context, 0)));
  };
}

/// Operator `op` on inputs 0 to 2 with the node's attributes, quantised by 3 and 4.
Rule unary(const char* op) {
  return [op](RuleContext& context) {
    Value* y = context.emit(op, {real(context, 0)}, context.attributes(op));
    context.set_output(0, quantized(context, y, 3, stored(context, 0)));
  };
}

/// A pooling that may be channels last.
void pool(RuleContext& context, std::string_view op) {
  const bool last = context.integer("channels_last", 0) != 0;
  Value* x = real(context, 0);
  Value* y =
      context.emit(op, {last ? to_channels_first(context, x) : x}, context.attributes(op, {"channels_last"}));
  y = quantized(context, y, 3, stored(context, 0));
  context.set_output(0, last ? to_channels_last(context, y) : y);
}

void softmax(RuleContext& context) {
  Emitter emit(context);
  Value* x = real(context, 0);
  const bool matrix = context.get<std::int64_t>("opset", "an integer") < 13;
  const std::int64_t axis = context.integer("axis", matrix ? 1 : -1);
  Value* y = nullptr;
  if (matrix) {
    Value* rows = emit.softmax(emit("flatten", {x}, {{"axis", axis}}), -1);
    y = emit("reshape", {rows, emit("shape", {x})}, {{"allowzero", std::int64_t{1}}});
  } else {
    y = emit.softmax(x, axis);
  }
  context.set_output(0, quantized(context, y, 3, stored(context, 0)));
}

void reduce_mean(RuleContext& context) {
  AttributeMap attributes;
  attributes.set("keepdims", context.integer("keepdims", 1));
  Value* y = context.emit("reduce_mean", {real(context, 0), context.ints(context.integers("axes"))},
                          std::move(attributes));
  context.set_output(0, quantized(context, y, 3, stored(context, 0)));
}

/// The result's scale and zero point, then triples of tensor, scale and zero point.
void concat(RuleContext& context) {
  check(context.inputs() >= 5 && (context.inputs() - 2) % 3 == 0, ErrorCode::bad_data,
        "{} inputs, expected 2 and some multiple of 3", context.inputs());
  std::vector<Value*> parts;
  for (std::size_t i = 2; i < context.inputs(); i += 3) parts.push_back(real(context, i));
  Value* y = Emitter(context).concat(parts, context.get<std::int64_t>("axis", "an integer"));
  context.set_output(0, quantized(context, y, 0, stored(context, 2)));
}

void where(RuleContext& context) {
  Value* y = Emitter(context).where(context.required(0), real(context, 1), real(context, 4));
  context.set_output(0, quantized(context, y, 7, stored(context, 1)));
}

/// A convolution with weights in ONNX's layout, in either layout of x.
void conv(RuleContext& context) {
  std::vector<Value*> inputs = context.all_inputs();
  const bool last = context.integer("channels_last", 0) != 0;
  if (last) inputs[0] = to_channels_first(context, context.required(0));
  Value* y = context.emit("q_linear_conv", inputs, context.attributes("q_linear_conv", {"channels_last"}));
  context.set_output(0, last ? to_channels_last(context, y) : y);
}

/// The per-tensor or per-column scale, shaped to broadcast over the matrix product.
Value* spread(RuleContext& context, Value* scale) {
  const bool single = scale->type.is_static() && scale->type.shape().elements() == 1;
  return single ? whole(context, scale) : scale;
}

/// (a - zero point) (b - zero point) times both scales, plus the bias, in the scales' type. The sums, which
/// are exact in 32 bits, and the product of the scales would leave the range of f16.
Value* real_product(RuleContext& context, std::vector<Value*> operands, Value* a_scale, Value* b_scale,
                    Value* bias) {
  Emitter emit(context);
  Value* sums = emit("matmul_integer", std::move(operands));
  Value* scale = emit.mul(emit.cast(a_scale, DType::f32), emit.cast(b_scale, DType::f32));
  Value* product = emit.mul(emit.cast(sums, DType::f32), scale);
  return emit.add_optional(emit.cast(product, b_scale->type.dtype()), bias);
}

void matmul_integer_to_float(RuleContext& context) {
  std::vector<Value*> operands = {context.required(0), context.required(1), whole(context, context.input(4)),
                                  context.input(5)};
  context.set_output(0, real_product(context, std::move(operands), whole(context, context.required(2)),
                                     spread(context, context.required(3)), context.input(6)));
}

void dynamic_quantize_matmul(RuleContext& context) {
  const Node* a = context.emit_node("dynamic_quantize_linear", {context.required(0)}, {}, 3);
  std::vector<Value*> operands = {a->output(0), context.required(1), a->output(2), context.input(3)};
  context.set_output(0, real_product(context, std::move(operands), a->output(1),
                                     spread(context, context.required(2)), context.input(4)));
}

/// Products of 16 bits are summed in 32 bits with wrap-around.
void matmul_integer_16(RuleContext& context) {
  Emitter emit(context);
  Value *a = context.required(0), *b = context.required(1);
  const bool is_signed = a->type.dtype() == DType::i16 || b->type.dtype() == DType::i16;
  Value* sums = emit.matmul(emit.cast(a, DType::i64), emit.cast(b, DType::i64));
  context.set_output(0, emit.cast(sums, is_signed ? DType::i32 : DType::u32));
}

void mul_integer(RuleContext& context) {
  Emitter emit(context);
  const auto shifted = [&](std::size_t i) {
    Value* x = emit.cast(context.required(i), DType::i32);
    Value* zero = whole(context, context.input(i + 1));
    return zero ? emit.sub(x, emit.cast(zero, DType::i32)) : x;
  };
  context.set_output(0, emit.mul(shifted(0), shifted(2)));
}

void reduce_sum_integer(RuleContext& context) {
  Emitter emit(context);
  Value* x = context.required(0);
  AttributeMap attributes;
  attributes.set("keepdims", context.integer("keepdims", 1));
  Value* wide = emit.cast(x, x->type.dtype() == DType::i8 ? DType::i32 : DType::u32);
  context.set_output(
      0, context.emit("reduce_sum", {wide, context.ints(context.integers("axes"))}, std::move(attributes)));
}

Value* transposed(RuleContext& context, Value* x, const char* attribute) {
  return context.integer(attribute, 0) != 0 ? Emitter(context).transpose(x, {1, 0}) : x;
}

/// Input 6 is the offset in units of both scales; 7 and 8 quantise the result, which is floating point
/// without them.
void gemm(RuleContext& context) {
  Emitter emit(context);
  Value* scale = emit.mul(whole(context, context.required(1)), spread(context, context.required(4)));
  scale = emit.times(scale, context.real("alpha", 1));
  std::vector<Value*> operands = {transposed(context, context.required(0), "transA"),
                                  transposed(context, context.required(3), "transB"),
                                  whole(context, context.required(2)), context.required(5)};
  Value* sums = emit.cast(emit("matmul_integer", std::move(operands)), DType::f32);
  if (Value* offset = context.input(6)) sums = emit.add(sums, emit.cast(offset, DType::f32));
  Value* y = emit.mul(sums, scale);
  context.set_output(0, context.has(7) ? quantized(context, y, 7, stored(context, 0)) : y);
}

/// Without an axis, scale and zero point are per tensor by the documentation; ONNX Runtime reads a list as
/// one along axis 1.
void linear(RuleContext& context, std::string_view op) {
  std::vector<Value*> inputs = context.all_inputs();
  if (!context.has_attribute("axis"))
    for (std::size_t i = 1; i < inputs.size(); ++i)
      if (inputs[i]) inputs[i] = spread(context, inputs[i]);
  AttributeMap attributes = context.attributes(op);
  // ONNX's operator divides in the type of the scale.
  if (op == "quantize_linear") attributes.set("precision", DType::f32);
  context.set_output(0, context.emit(op, inputs, std::move(attributes)));
}

void channels_last_max_pool(RuleContext& context) {
  Value* y = context.emit("max_pool", {to_channels_first(context, context.required(0))},
                          context.attributes("max_pool"));
  context.set_output(0, to_channels_last(context, y));
}

/// LSTM weights [directions, input, 4 hidden] with a scale per direction or column.
Value* lstm_weights(RuleContext& context, std::size_t weights, std::size_t scale) {
  Emitter emit(context);
  Value *factor = context.required(scale), *zero = context.required(scale + 1);
  const auto spread_out = [&](Value* x) {
    return known_rank(x, "a scale of the weights") == 1 ? emit.unsqueeze(x, {1, 2}) : emit.unsqueeze(x, {1});
  };
  Value* shifted =
      emit.sub(emit.cast(context.required(weights), DType::f32), emit.cast(spread_out(zero), DType::f32));
  return emit.transpose(emit.mul(shifted, spread_out(factor)), {0, 2, 1});
}

/// The dequantised weights. ONNX Runtime rounds x and the states to 8 bits at each step for speed; here they
/// stay floating point.
void dynamic_quantize_lstm(RuleContext& context) {
  std::vector<Value*> inputs = {context.required(0), lstm_weights(context, 1, 8),
                                lstm_weights(context, 2, 10)};
  for (std::size_t i = 3; i < 8; ++i) inputs.push_back(context.input(i));
  while (!inputs.back()) inputs.pop_back();
  context.set_outputs(
      *context.emit_node("lstm", inputs, context.attributes("lstm"), context.node.outputs.size()));
}

} // namespace

void add_microsoft_quantized_rules(Rules& rules) {
  const std::string domain = "com.microsoft.";
  rules[domain + "QLinearAdd"] = binary("add");
  rules[domain + "QLinearMul"] = binary("mul");
  rules[domain + "QLinearSigmoid"] = unary("sigmoid");
  rules[domain + "QLinearLeakyRelu"] = unary("leaky_relu");
  rules[domain + "QLinearSoftmax"] = softmax;
  rules[domain + "QLinearReduceMean"] = reduce_mean;
  rules[domain + "QLinearConcat"] = concat;
  rules[domain + "QLinearWhere"] = where;
  rules[domain + "QLinearConv"] = conv;
  rules[domain + "QLinearAveragePool"] = [](RuleContext& context) { pool(context, "average_pool"); };
  rules[domain + "QLinearGlobalAveragePool"] = [](RuleContext& context) {
    pool(context, "global_average_pool");
  };
  rules[domain + "QGemm"] = gemm;
  rules[domain + "MatMulIntegerToFloat"] = matmul_integer_to_float;
  rules[domain + "DynamicQuantizeMatMul"] = dynamic_quantize_matmul;
  rules[domain + "MatMulInteger16"] = matmul_integer_16;
  rules[domain + "MulInteger"] = mul_integer;
  rules[domain + "ReduceSumInteger"] = reduce_sum_integer;
  rules[domain + "QuantizeLinear"] = [](RuleContext& context) { linear(context, "quantize_linear"); };
  rules[domain + "DequantizeLinear"] = [](RuleContext& context) { linear(context, "dequantize_linear"); };
  rules[domain + "NhwcMaxPool"] = channels_last_max_pool;
  rules[domain + "DynamicQuantizeLSTM"] = dynamic_quantize_lstm;
}

} // namespace lanner::onnx
