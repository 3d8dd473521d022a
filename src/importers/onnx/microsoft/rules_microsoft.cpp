// Products, convolutions and activations fused by ONNX Runtime's optimisers (domain com.microsoft), by the
// definitions in its documentation (docs/ContribOperators.md).

#include <algorithm>
#include <numeric>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/onnx/emitter.h"
#include "importers/onnx/rules.h"

namespace lanner::onnx {
namespace {

/// The parameters of FusedConv's activation are one list.
Value* listed_activation(RuleContext& context, Value* x) {
  const std::vector<double> given = context.reals("activation_params");
  return fused_activation(context, x, context.string("activation", ""),
                          [&](std::size_t place, std::string_view) {
                            return place < given.size() ? std::optional(given[place]) : std::nullopt;
                          });
}

/// FusedGemm has an attribute for each parameter.
Value* named_activation(RuleContext& context, Value* x) {
  return fused_activation(
      context, x, context.string("activation", ""), [&](std::size_t, std::string_view name) {
        const std::string attribute = "activation_" + std::string(name);
        return context.has_attribute(attribute) ? std::optional(context.real(attribute, 0)) : std::nullopt;
      });
}

/// Inputs are x, weights, bias and a value added to the result.
Value* convolved(RuleContext& context, Value* x, Value* residual) {
  std::vector<Value*> inputs = {x, context.required(1)};
  if (context.has(2)) inputs.push_back(context.input(2));
  Value* y = context.emit("conv", inputs, context.attributes("conv", {"activation", "activation_params"}));
  return listed_activation(context, residual ? context.emit("add", {y, residual}) : y);
}

void fused_conv(RuleContext& context) {
  context.set_output(0, convolved(context, context.required(0), context.input(3)));
}

void channels_last_conv(RuleContext& context) {
  Value* residual = context.has(3) ? to_channels_first(context, context.input(3)) : nullptr;
  Value* y = convolved(context, to_channels_first(context, context.required(0)), residual);
  context.set_output(0, to_channels_last(context, y));
}

void fused_gemm(RuleContext& context) {
  Value* y = context.emit(
      "gemm", context.all_inputs(),
      context.attributes("gemm", {"activation", "activation_alpha", "activation_beta", "activation_gamma"}));
  context.set_output(0, named_activation(context, y));
}

/// An operand of FusedMatMul. `batches` first moves the first axis before the last one; `transposed` then
/// swaps the last two.
Value* operand(RuleContext& context, std::size_t i, bool transposed, bool batches) {
  Value* x = context.required(i);
  if (!transposed && !batches) return x;
  const std::size_t rank = known_rank(x, "an operand that is transposed");
  if (rank < 2) return x;
  std::vector<std::int64_t> perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  check(!batches || rank >= 3, ErrorCode::bad_data,
        "input {} is {}, expected 3 dims or more to transpose batches", i, x->type.to_string());
  if (batches) std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (transposed) std::swap(perm[rank - 2], perm[rank - 1]);
  return Emitter(context).transpose(x, perm);
}

Value* fused_product(RuleContext& context) {
  const auto flag = [&](const char* name) { return context.integer(name, 0) != 0; };
  Emitter emit(context);
  Value* y = emit.matmul(operand(context, 0, flag("transA"), flag("transBatchA")),
                         operand(context, 1, flag("transB"), flag("transBatchB")));
  return emit.times(y, context.real("alpha", 1));
}

void fused_matmul(RuleContext& context) {
  context.set_output(0, fused_product(context));
}

void fused_matmul_activation(RuleContext& context) {
  context.set_output(0, named_activation(context, fused_product(context)));
}

/// `x` plus its bias, if any; FastGelu is the tanh approximation.
Value* gelu_of(RuleContext& context, Value* x, Value* bias, bool fast) {
  Emitter emit(context);
  x = emit.add_optional(x, bias);
  return fast ? emit("gelu", {x}, {{"approximate", std::string("tanh")}}) : emit("gelu", {x});
}

void gelu(RuleContext& context) {
  const bool fast = context.node.op == "FastGelu";
  context.set_output(0, gelu_of(context, context.required(0), context.input(1), fast));
}

void gemm_fast_gelu(RuleContext& context) {
  Value* product = context.emit("matmul", {context.required(0), context.required(1)});
  context.set_output(0, gelu_of(context, product, context.input(2), true));
}

void quick_gelu(RuleContext& context) {
  Emitter emit(context);
  // The float nearest to 1.702, as files contain it.
  const double alpha = context.real("alpha", static_cast<double>(1.702F));
  context.set_output(0, emit("swish", {context.required(0)}, {{"alpha", alpha}}));
}

void bias_add(RuleContext& context) {
  Emitter emit(context);
  context.set_output(0, emit.add(emit.add(context.required(0), context.required(1)), context.required(2)));
}

void bias_split_gelu(RuleContext& context) {
  Emitter emit(context);
  Value* x = emit.add(context.required(0), context.required(1));
  const std::int64_t size = last_size(x, "the input");
  check(size % 2 == 0, ErrorCode::bad_data, "the input is {}, expected an even last size",
        x->type.to_string());
  const std::vector<Value*> halves = emit.split(x, -1, {size / 2, size / 2});
  context.set_output(0, emit.mul(halves[0], emit("gelu", {halves[1]})));
}

/// Softmax over the axes from `axis` on, taken together.
void bias_softmax(RuleContext& context) {
  Emitter emit(context);
  Value* x = emit.add(context.required(0), context.required(1));
  const auto rank = static_cast<std::int64_t>(known_rank(x, "the input"));
  const std::int64_t axis = context.integer("axis", 1);
  if (axis == rank - 1 || axis == -1) return context.set_output(0, emit.softmax(x, -1));
  Value* rows = emit.softmax(emit("flatten", {x}, {{"axis", axis}}), -1);
  context.set_output(0, emit("reshape", {rows, emit("shape", {x})}, {{"allowzero", std::int64_t{1}}}));
}

void bias_dropout(RuleContext& context) {
  Emitter emit(context);
  Value* x = emit.add(context.required(0), context.required(1));
  std::vector<Value*> inputs = {x, context.input(3), context.input(4)};
  while (!inputs.back()) inputs.pop_back();
  const Node* dropped = context.emit_node("dropout", inputs, context.attributes("dropout"), 2);
  context.set_output(0, emit.add_optional(dropped->output(0), context.input(2)));
  context.set_output(1, dropped->output(1));
}

void gated_add(RuleContext& context) {
  Emitter emit(context);
  context.set_output(0, emit.add(context.required(0), emit.mul(context.required(1), context.required(2))));
}

void scaled_silu(RuleContext& context) {
  Emitter emit(context);
  Value* x = context.required(0);
  Value* scale = context.has(1) ? emit.scalar_of(emit.cast(context.input(1), x->type.dtype())) : nullptr;
  Value* scaled = scale ? emit.mul(x, scale) : emit.times(x, context.real("alpha", 1));
  context.set_output(0, emit.mul(scaled, emit.sigmoid(scaled)));
}

void identity(RuleContext& context) {
  context.set_output(0, context.emit("identity", {context.required(0)}));
}

} // namespace

void add_microsoft_rules(Rules& rules) {
  const std::string domain = "com.microsoft.";
  rules[domain + "FusedConv"] = fused_conv;
  rules[domain + "NhwcConv"] = rules[domain + "NhwcFusedConv"] = channels_last_conv;
  rules[domain + "FusedGemm"] = fused_gemm;
  rules[domain + "FusedMatMul"] = rules[domain + "TransposeMatMul"] = fused_matmul;
  rules[domain + "FusedMatMulActivation"] = fused_matmul_activation;
  rules[domain + "GemmFastGelu"] = gemm_fast_gelu;
  rules[domain + "Gelu"] = rules[domain + "BiasGelu"] = rules[domain + "FastGelu"] = gelu;
  rules[domain + "QuickGelu"] = quick_gelu;
  rules[domain + "BiasAdd"] = bias_add;
  rules[domain + "BiasSplitGelu"] = bias_split_gelu;
  rules[domain + "BiasSoftmax"] = bias_softmax;
  rules[domain + "BiasDropout"] = bias_dropout;
  rules[domain + "GatedAdd"] = gated_add;
  rules[domain + "ScaledSiLU"] = scaled_silu;
  rules[domain + "SampleOp"] = identity;
}

} // namespace lanner::onnx
