// Mixtures of experts (docs/ContribOperators.md). Every expert processes every token, and experts that the
// router did not choose get weight 0: plain products, which any kernel runs.

#include <cstdint>
#include <limits>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/onnx/emitter.h"
#include "importers/onnx/microsoft/packed_weights.h"
#include "importers/onnx/rules.h"

namespace lanner::onnx {
namespace {

/// One layer of all experts: weights [experts, columns, depth] and a bias [experts, columns], or null.
struct Layer {
  Value *weights = nullptr, *bias = nullptr;
};

struct Experts {
  Layer first, second, third; ///< The third is the other factor of a gate; its weights may be null.
};

/// x [tokens, depth] or [experts, tokens, depth] to [experts, tokens, columns].
Value* applied(RuleContext& context, Value* x, const Layer& layer) {
  Emitter emit(context);
  Value* y = emit.matmul(x, emit.transpose(layer.weights, {0, 2, 1}));
  return layer.bias ? emit.add(y, emit.unsqueeze(layer.bias, {1})) : y;
}

/// Both halves of a gate, computed by one product.
std::vector<Value*> sides_of(RuleContext& context, Value* both, bool interleaved) {
  Emitter emit(context);
  const std::int64_t width = known_size(both, 2, "the first layer's result");
  check(width % 2 == 0, ErrorCode::bad_data, "the first layer gives {} numbers, expected an even count",
        width);
  if (!interleaved) return emit.split(both, -1, {width / 2, width / 2});
  const std::vector<Value*> pairs = emit.split(emit.reshape(both, {0, 0, width / 2, 2}), -1, {1, 1});
  return {emit.squeeze(pairs[0], {-1}), emit.squeeze(pairs[1], {-1})};
}

Value* swiglu(RuleContext& context, Value* gate, Value* linear) {
  Emitter emit(context);
  const double alpha = context.real("activation_alpha", 1), beta = context.real("activation_beta", 0);
  if (context.has_attribute("swiglu_limit")) {
    const double limit = context.real("swiglu_limit", 0);
    gate = emit("min", {gate, emit.number(gate, limit)});
    linear = emit("clip", {linear, emit.number(linear, -limit), emit.number(linear, limit)});
  }
  return emit.mul(emit("swish", {gate}, {{"alpha", alpha}}), emit.plus(linear, beta));
}

/// Output of the hidden layer of each expert.
Value* hidden_of(RuleContext& context, Value* x, const Experts& experts) {
  Emitter emit(context);
  const std::string kind = context.string("activation_type", "relu");
  Value* y = applied(context, x, experts.first);
  if (kind == "swiglu") {
    const std::int64_t fusion = context.integer("swiglu_fusion", 0);
    check(fusion >= 0 && fusion <= 2 && (fusion == 0) == (experts.third.weights != nullptr),
          ErrorCode::bad_data, "attribute swiglu_fusion is {} {} weights of a third layer", fusion,
          experts.third.weights ? "with" : "without");
    if (fusion == 0) return swiglu(context, y, applied(context, x, experts.third));
    const std::vector<Value*> sides = sides_of(context, y, fusion == 1);
    return swiglu(context, sides[0], sides[1]);
  }
  if (kind == "relu")
    y = emit("relu", {y});
  else if (kind == "gelu") // the tanh approximation, as in ONNX Runtime's kernels
    y = emit("gelu", {y}, {{"approximate", std::string("tanh")}});
  else if (kind == "silu")
    y = emit("swish", {y});
  else
    check(kind == "identity", ErrorCode::unsupported,
          "attribute activation_type: '{}', expected relu, gelu, silu, swiglu or identity", kind);
  return experts.third.weights ? emit.mul(y, applied(context, x, experts.third)) : y;
}

/// The weight of each expert for each token, 0 for those not chosen: [experts, tokens, 1].
Value* shares_of(RuleContext& context, Value* scores) {
  Emitter emit(context);
  check(context.integer("use_sparse_mixer", 0) == 0, ErrorCode::unsupported,
        "attribute use_sparse_mixer is {}; this version supports 0", context.integer("use_sparse_mixer", 0));
  AttributeMap last;
  last.set("axis", std::int64_t{-1});
  Value* probabilities = emit.softmax(scores, -1);
  const Node* best =
      context.emit_node("top_k", {probabilities, context.ints({context.integer("k", 1)})}, last, 2);
  Value* chosen = best->output(0);
  if (context.integer("normalize_routing_weights", 0) != 0)
    chosen = emit.div(chosen, emit("reduce_sum", {chosen, context.ints({-1})}));
  Value* none = emit.sub(probabilities, probabilities);
  Value* shares = emit("scatter_elements", {none, best->output(1), chosen}, {{"axis", std::int64_t{1}}});
  return emit.unsqueeze(emit.transpose(shares, {1, 0}), {2});
}

void give_mixture(RuleContext& context, const Experts& experts) {
  Emitter emit(context);
  Value* x = context.required(0);
  Value* tokens = emit.reshape(x, {-1, last_size(x, "the input")});
  Value* each = applied(context, hidden_of(context, tokens, experts), experts.second);
  const std::int64_t dropped = 0;
  Value* y = emit("reduce_sum", {emit.mul(each, shares_of(context, context.required(1))), context.ints({0})},
                  {{"keepdims", dropped}});
  context.set_output(0, emit("reshape", {y, emit("shape", {x})}, {{"allowzero", std::int64_t{1}}}));
}

void mixture(RuleContext& context) {
  give_mixture(context, {{context.required(2), context.input(3)},
                         {context.required(4), context.input(5)},
                         {context.input(6), context.input(7)}});
}

/// A layer of a quantised mixture: inputs from `at` on are weights, scales and bias; then zero points.
Layer quantised_layer(RuleContext& context, std::size_t at, std::size_t zeros, const char* own_bits) {
  if (!context.has(at)) return {};
  Emitter emit(context);
  const std::int64_t bits = context.integer(own_bits, context.integer("expert_weight_bits", 4));
  check(bits == 2 || bits == 4 || bits == 8, ErrorCode::unsupported,
        "weights of {} bits; this version supports 2, 4 and 8", bits);
  Value *packed = context.input(at), *scales = context.required(at + 1), *zero = context.input(zeros);
  check(packed->type.dtype() == DType::u8, ErrorCode::unsupported, "weights are {}, expected u8",
        packed->type.to_string());
  const std::int64_t experts = known_size(packed, 0, "the weights"),
                     rows = known_size(packed, 1, "the weights");
  const std::int64_t depth = known_size(packed, 2, "the weights") * (8 / bits);
  const bool blocked = known_rank(scales, "the scales") == 3;
  const std::int64_t blocks = blocked ? known_size(scales, 2, "the scales") : 1;
  check(blocks >= 1 && depth % blocks == 0, ErrorCode::bad_data, "{} blocks for {} numbers", blocks, depth);
  const DType type = scales->type.dtype();
  const std::vector<Size> each = {experts, rows, blocks, std::int64_t{1}};
  Value* centre = context.scalar(type, static_cast<double>(1 << (bits - 1)));
  if (zero) {
    Value* numbers = unpacked_numbers(context, zero, bits);
    const std::int64_t axis = blocked ? 2 : 1;
    centre = emit.cast(emit.reshape(emit.slice(numbers, axis, 0, blocked ? blocks : rows), each), type);
  }
  Value* numbers =
      emit.reshape(unpacked_numbers(context, packed, bits), {experts, rows, blocks, depth / blocks});
  Value* real = emit.mul(emit.sub(emit.cast(numbers, type), centre), emit.reshape(scales, each));
  return {emit.cast(emit.reshape(real, {experts, rows, depth}), context.required(0)->type.dtype()),
          context.input(at + 2)};
}

/// Zero points follow the layers, in their order.
void quantised_mixture(RuleContext& context) {
  check(context.string("quant_type", "int") == "int", ErrorCode::unsupported,
        "attribute quant_type: '{}', expected int", context.string("quant_type", "int"));
  check(context.integer("weights_prepacked", 0) == 0, ErrorCode::unsupported,
        "attribute weights_prepacked is {}; this version supports 0",
        context.integer("weights_prepacked", 0));
  for (std::size_t i = 14; i < context.inputs(); ++i)
    check(!context.has(i), ErrorCode::unsupported, "input {} is given, which this version does not support",
          i);
  give_mixture(context, {quantised_layer(context, 2, 11, "fc1_expert_weight_bits"),
                         quantised_layer(context, 5, 12, "fc2_expert_weight_bits"),
                         quantised_layer(context, 8, 13, "fc3_expert_weight_bits")});
}

} // namespace

void add_microsoft_expert_rules(Rules& rules) {
  rules["com.microsoft.MoE"] = mixture;
  rules["com.microsoft.QMoE"] = quantised_mixture;
}

} // namespace lanner::onnx
