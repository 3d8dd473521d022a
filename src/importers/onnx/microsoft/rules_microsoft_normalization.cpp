// Normalisations fused by ONNX Runtime's optimisers, with the additions before them and the activations after
// them, by the definitions in its documentation (docs/ContribOperators.md).

#include <lanner/error.h>

#include "base/check.h"
#include "importers/onnx/emitter.h"
#include "importers/onnx/rules.h"

namespace lanner::onnx {
namespace {

/// These operators' default epsilon.
constexpr double usual_epsilon = static_cast<double>(1e-12F), group_epsilon = static_cast<double>(1e-5F);

AttributeMap over_last(double epsilon) {
  AttributeMap attributes;
  attributes.set("axis", std::int64_t{-1});
  attributes.set("epsilon", epsilon);
  return attributes;
}

/// 1 / sqrt(mean(x^2) + epsilon) over the axes from `axis` on, which training graphs read.
Value* inverse_magnitude(RuleContext& context, Value* x, std::int64_t axis, double epsilon) {
  Emitter emit(context);
  const auto rank = static_cast<std::int64_t>(known_rank(x, "the input"));
  std::vector<std::int64_t> axes;
  for (std::int64_t d = axis < 0 ? axis + rank : axis; d < rank; ++d) axes.push_back(d);
  Value* wide = emit.cast(x, DType::f32);
  Value* mean = emit("reduce_mean", {emit.mul(wide, wide), context.ints(axes)});
  return emit("reciprocal", {emit("sqrt", {emit.plus(mean, epsilon)})});
}

void simplified_layer_normalization(RuleContext& context) {
  Value *x = context.required(0), *scale = context.required(1);
  AttributeMap attributes = context.attributes("rms_normalization");
  const double epsilon = attributes.real("epsilon", group_epsilon);
  attributes.set("epsilon", epsilon);
  context.set_output(0, context.emit("rms_normalization", {x, scale}, std::move(attributes)));
  if (context.node.outputs.size() > 1)
    context.set_output(1, inverse_magnitude(context, x, context.integer("axis", -1), epsilon));
}

void skip_layer_normalization(RuleContext& context) {
  Emitter emit(context);
  Value* sum = emit.add_optional(emit.add(context.required(0), context.required(1)), context.input(4));
  std::vector<Value*> inputs = {sum, context.required(2)};
  if (context.has(3)) inputs.push_back(context.input(3));
  const Node* node =
      context.emit_node("layer_normalization", inputs, over_last(context.real("epsilon", usual_epsilon)),
                        context.node.outputs.size() > 1 ? 3 : 1);
  context.set_outputs(*node);
  context.set_output(3, sum);
}

void skip_simplified_layer_normalization(RuleContext& context) {
  Emitter emit(context);
  Value* sum = emit.add_optional(emit.add(context.required(0), context.required(1)), context.input(3));
  const double epsilon = context.real("epsilon", usual_epsilon);
  context.set_output(0, context.emit("rms_normalization", {sum, context.required(2)}, over_last(epsilon)));
  const auto wanted = [&](std::size_t i) {
    return i < context.node.outputs.size() && !context.node.outputs[i].empty();
  };
  check(!wanted(1), ErrorCode::unsupported, "output mean: this normalisation computes no mean");
  if (wanted(2)) context.set_output(2, inverse_magnitude(context, sum, -1, epsilon));
  context.set_output(3, sum);
}

/// The embeddings whose sum a token becomes: of its word, position and segment.
struct Embedding {
  Value *words = nullptr, *positions = nullptr, *segments = nullptr; ///< Each [batch or 1, sequence, hidden].
};

/// Rows of the position table for the tokens of `ids`.
Value* position_rows(RuleContext& context, Value* table, Value* ids, Value* position_ids) {
  Emitter emit(context);
  return emit.gather(table, position_ids ? position_ids : emit.count(emit.size(ids, 1)), 0);
}

void give_embedding(RuleContext& context, const Embedding& parts, Value* gamma, Value* beta) {
  Emitter emit(context);
  Value* sum = emit.add_optional(emit.add(parts.words, parts.positions), parts.segments);
  context.set_output(0, context.emit("layer_normalization", {sum, gamma, beta},
                                     over_last(context.real("epsilon", usual_epsilon))));
  context.set_output(2, sum);
}

/// Number of tokens in each row that the mask keeps; zeros without a mask.
void give_mask_index(RuleContext& context, Value* ids, Value* mask) {
  if (context.node.outputs.size() < 2 || context.node.outputs[1].empty()) return;
  Emitter emit(context);
  if (mask) {
    Value* kept = emit.cast(emit("equal", {mask, emit.number(mask, 1)}), DType::i32);
    const std::int64_t dropped = 0;
    return context.set_output(1, emit("reduce_sum", {kept, context.ints({1})}, {{"keepdims", dropped}}));
  }
  const Tensor zero = Tensor::from<std::int32_t>(std::vector<std::int32_t>{0}, {1});
  context.set_output(1, emit("constant_of_shape", {emit.size(ids, 0)}, {{"value", zero}}));
}

void embed_layer_normalization(RuleContext& context) {
  Emitter emit(context);
  Value* ids = context.required(0);
  Embedding parts{emit.gather(context.required(2), ids, 0),
                  position_rows(context, context.required(3), ids, context.input(8)), nullptr};
  check(context.has(1) == context.has(4), ErrorCode::bad_data,
        "one of segment_ids and segment_embedding is given, expected both or none");
  if (context.has(1)) parts.segments = emit.gather(context.input(4), context.input(1), 0);
  give_embedding(context, parts, context.required(5), context.required(6));
  give_mask_index(context, ids, context.input(7));
}

/// Scales are inputs 8 to 12, zero points 13 to 17, in the order of their tables.
void quantized_embed_layer_normalization(RuleContext& context) {
  Emitter emit(context);
  const auto real = [&](Value* x, std::size_t table) {
    return emit("dequantize_linear", {x, emit.scalar_of(context.required(8 + table)),
                                      emit.scalar_of(context.required(13 + table))});
  };
  Value* ids = context.required(0);
  Embedding parts{real(emit.gather(context.required(2), ids, 0), 0),
                  real(position_rows(context, context.required(3), ids, nullptr), 1), nullptr};
  if (context.has(1)) parts.segments = real(emit.gather(context.required(4), context.input(1), 0), 2);
  give_embedding(context, parts, real(context.required(5), 3), real(context.required(6), 4));
  give_mask_index(context, ids, context.input(7));
}

/// Computed in f32: scale and offset may be wider than the input.
Value* normalized_groups(RuleContext& context, Value* x) {
  Emitter emit(context);
  const std::int64_t chosen = context.get<std::int64_t>("activation", "an integer");
  check(chosen == 0 || chosen == 1, ErrorCode::bad_data,
        "attribute activation is {}, expected 0 (none) or 1 (SiLU)", chosen);
  Value* y = emit("group_normalization",
                  {emit.cast(x, DType::f32), emit.cast(context.required(1), DType::f32),
                   emit.cast(context.required(2), DType::f32)},
                  {{"num_groups", context.get<std::int64_t>("groups", "an integer")},
                   {"epsilon", context.real("epsilon", group_epsilon)}});
  return emit.cast(chosen == 1 ? emit("swish", {y}) : y, x->type.dtype());
}

bool has_channels_last(const RuleContext& context) {
  return context.integer("channels_last", 1) != 0;
}

Value* group_norm_of(RuleContext& context, Value* x) {
  if (!has_channels_last(context)) return normalized_groups(context, x);
  return to_channels_last(context, normalized_groups(context, to_channels_first(context, x)));
}

void group_norm(RuleContext& context) {
  context.set_output(0, group_norm_of(context, context.required(0)));
}

/// A skip of rank 2 and a bias are per channel.
void skip_group_norm(RuleContext& context) {
  Emitter emit(context);
  Value *skip = context.required(3), *bias = context.input(4);
  const bool last = has_channels_last(context);
  using Axes = std::vector<std::int64_t>;
  if (known_rank(skip, "skip") == 2) skip = emit.unsqueeze(skip, last ? Axes{1, 2} : Axes{2, 3});
  if (bias && !last) bias = emit.unsqueeze(bias, {1, 2});
  Value* sum = emit.add_optional(emit.add(context.required(0), skip), bias);
  context.set_output(0, group_norm_of(context, sum));
  context.set_output(1, sum);
}

/// Each `width` numbers of a row are normalised separately, in f32.
Value* normalized_parts(RuleContext& context, Value* x, std::int64_t width) {
  Emitter emit(context);
  last_size(x, "the input");
  std::vector<Size> sizes(x->type.rank() - 1, std::int64_t{0});
  sizes.emplace_back(std::int64_t{-1});
  sizes.emplace_back(width);
  Value* ones = emit.repeated(context.scalar(DType::f32, 1), width);
  return context.emit("rms_normalization", {emit.reshape(emit.cast(x, DType::f32), sizes), ones},
                      over_last(context.real("epsilon", group_epsilon)));
}

/// Back to the input's own shape.
Value* shaped_as(RuleContext& context, Value* y, Value* x) {
  Emitter emit(context);
  return emit("reshape", {y, emit("shape", {x})}, {{"allowzero", std::int64_t{1}}});
}

void gated_rms_norm(RuleContext& context) {
  Emitter emit(context);
  Value *x = context.required(0), *scale = context.required(1);
  const std::string kind = context.string("activation", "silu");
  check(kind == "silu" || kind == "swish" || kind == "sigmoid", ErrorCode::bad_data,
        "attribute activation: '{}', expected silu, swish or sigmoid", kind);
  Value* parts = normalized_parts(context, x, known_size(scale, 0, "the scale"));
  Value* y = shaped_as(context, emit.mul(parts, emit.cast(scale, DType::f32)), x);
  Value* gate = emit.cast(context.required(2), DType::f32);
  y = emit.mul(y, kind == "sigmoid" ? emit.sigmoid(gate) : emit("swish", {gate}));
  context.set_output(0, emit.cast(y, x->type.dtype()));
}

/// A flat row holds `num_branches` branches; otherwise the last axis is one.
void branchwise_rms_norm(RuleContext& context) {
  Emitter emit(context);
  Value* x = context.required(0);
  const std::int64_t branches = context.integer("num_branches", 0), last = last_size(x, "the input");
  check(branches >= 0 && (branches == 0 || last % branches == 0), ErrorCode::bad_data,
        "the input is {}, which does not divide into {} branches", x->type.to_string(), branches);
  const std::int64_t width = branches == 0 ? last : last / branches;
  Value* y = normalized_parts(context, x, width);
  if (branches == 0) y = shaped_as(context, y, x);
  if (context.has(1)) {
    Value* scale = emit.cast(context.input(1), DType::f32);
    const bool single = scale->type.is_static() && scale->type.shape().elements() == width;
    y = emit.mul(y, emit.reshape(scale, single ? std::vector<Size>{width} : std::vector<Size>{-1, width}));
  }
  context.set_output(0, emit.cast(shaped_as(context, y, x), x->type.dtype()));
}

} // namespace

void add_microsoft_normalization_rules(Rules& rules) {
  const std::string domain = "com.microsoft.";
  rules["SimplifiedLayerNormalization"] = simplified_layer_normalization;
  rules[domain + "SkipLayerNormalization"] = skip_layer_normalization;
  rules[domain + "SkipSimplifiedLayerNormalization"] = skip_simplified_layer_normalization;
  rules[domain + "EmbedLayerNormalization"] = embed_layer_normalization;
  rules[domain + "QEmbedLayerNormalization"] = quantized_embed_layer_normalization;
  rules[domain + "GroupNorm"] = group_norm;
  rules[domain + "SkipGroupNorm"] = skip_group_norm;
  rules[domain + "GatedRMSNorm"] = gated_rms_norm;
  rules[domain + "BranchwiseRMSNorm"] = branchwise_rms_norm;
}

} // namespace lanner::onnx
