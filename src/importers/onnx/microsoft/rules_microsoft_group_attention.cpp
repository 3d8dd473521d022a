// Attention with a growing cache of keys and values, and rotary embedding, as in models of ONNX Runtime's
// generators (docs/ContribOperators.md).

#include <lanner/error.h>

#include "base/check.h"
#include "importers/onnx/attention.h"
#include "importers/onnx/rules.h"

namespace lanner::onnx {
namespace {

struct Rotation {
  Value *cos, *sin; ///< [positions, rotated / 2].
  bool interleaved;
};

/// x [batch, heads, sequence, size] or, with `heads` above 0, [batch, sequence, heads * size].
Value* rotated(RuleContext& context, Value* x, Value* positions, const Rotation& rotation, std::int64_t size,
               std::int64_t heads = 0) {
  const std::int64_t turned = 2 * known_size(rotation.cos, 1, "cos_cache");
  check(turned <= size, ErrorCode::bad_data, "cos_cache is {}, which is wider than half a head of {}",
        rotation.cos->type.to_string(), size);
  AttributeMap attributes;
  attributes.set("interleaved", std::int64_t{rotation.interleaved});
  if (turned < size) attributes.set("rotary_embedding_dim", turned);
  if (heads > 0) attributes.set("num_heads", heads);
  return context.emit("rotary_embedding", {x, rotation.cos, rotation.sin, positions}, std::move(attributes));
}

/// Positions of the tokens as given, or counted up from a single start.
Value* token_positions(RuleContext& context, Value* given, Value* batch, Value* sequence) {
  Emitter emit(context);
  if (known_rank(given, "position_ids") == 2) return given;
  Value* row = emit.add(emit.count(sequence), emit.cast(given, DType::i64));
  return emit("expand", {emit.unsqueeze(row, {0}), emit.concat({batch, sequence}, 0)});
}

void rotary_embedding(RuleContext& context) {
  refuse_attribute(context, "is_packed_batching");
  check(context.real("scale", 1) == 1, ErrorCode::unsupported, "attribute scale is {}, expected 1",
        context.real("scale", 1));
  Emitter emit(context);
  Value* x = context.required(0);
  const Rotation rotation{context.required(2), context.required(3), context.integer("interleaved", 0) != 0};
  const bool split = known_rank(x, "the input") == 4;
  std::int64_t heads = split ? 0 : context.integer("num_heads", 0), size = 0;
  if (split) {
    size = known_size(x, 3, "the input");
  } else {
    const std::int64_t hidden = known_size(x, 2, "the input");
    size = heads > 0 ? hidden / heads : 2 * known_size(rotation.cos, 1, "cos_cache");
    check(size > 0 && hidden % size == 0, ErrorCode::bad_data, "the input is {}: no heads of {} each",
          x->type.to_string(), size);
    heads = hidden / size;
  }
  Value* positions =
      token_positions(context, context.required(1), emit.size(x, 0), emit.size(x, split ? 2 : 1));
  context.set_output(0, rotated(context, x, positions, rotation, size, heads));
}

/// Sizes of a generation step: lists of one element, except `past`.
struct Step {
  Value* past;             ///< Earlier tokens of each batch entry, [batch].
  Value *sequence, *total; ///< Tokens of the step; and the total, with earlier tokens, of the longest entry.
};

/// The first step has no past, whatever the lengths say: shorter entries are padded at the end.
Step step_of(RuleContext& context, Value* query) {
  Emitter emit(context);
  Step step{nullptr, emit.size(query, 1), nullptr};
  step.total = emit.reshape(emit.cast(context.required(6), DType::i64), {1});
  Value* lengths = emit.flat(emit.cast(context.required(5), DType::i64));
  Value* before = emit.sub(emit.plus(lengths, 1), step.sequence);
  Value* first = emit("equal", {step.total, step.sequence});
  step.past = emit.where(first, emit.sub(before, before), before);
  return step;
}

/// The cache at input `i`, extended to all tokens, with those of this step written after the past.
Value* extended(RuleContext& context, std::size_t i, Value* fresh, const Step& step) {
  if (!context.has(i)) return fresh;
  Emitter emit(context);
  Value* cache = context.input(i);
  check(cache->type.dtype() == fresh->type.dtype(), ErrorCode::unsupported,
        "a cache of {} for keys and values of {}", to_string(cache->type.dtype()),
        to_string(fresh->type.dtype()));
  Value* length = emit.size(cache, 2);
  Value* missing = emit("max", {emit.sub(step.total, length), context.ints({0})});
  Value* pads = emit.concat({context.ints({0, 0, 0, 0, 0, 0}), missing, context.ints({0})}, 0);
  Value* wide = emit("pad", {cache, pads});
  return emit("tensor_scatter", {wide, fresh, step.past}, {{"axis", std::int64_t{2}}});
}

/// Keys that each token of the step attends to: [batch, 1, sequence or 1, total].
Value* visible(RuleContext& context, const Step& step, Value* total) {
  Emitter emit(context);
  Value* keys = emit.count(total);
  Value* past = emit.reshape(step.past, {-1, 1, 1, 1});
  const bool causal = context.integer("causal", 1) != 0;
  const std::int64_t window = context.integer("local_window_size", -1);
  check(causal || window < 0, ErrorCode::bad_data, "attribute local_window_size is {} without causal",
        window);
  if (!causal) return emit("less", {keys, emit.add(past, step.sequence)});
  Value* queries = emit.add(emit.reshape(emit.count(step.sequence), {-1, 1}), past);
  Value* seen = not_later(context, keys, queries);
  if (window < 0) return seen;
  return emit("and", {seen, emit("greater", {keys, emit.plus(queries, static_cast<double>(-window))})});
}

/// q, k and v of the step split into heads, normalised and rotated as the node says.
AttentionParts step_parts(RuleContext& context, const Step& step) {
  Emitter emit(context);
  const std::int64_t heads = head_count(context, "num_heads"), shared = head_count(context, "kv_num_heads");
  std::vector<Value*> sides = {context.required(0), context.input(1), context.input(2)};
  const std::int64_t hidden = known_size(sides[0], 2, "the query");
  if (!sides[1]) {
    check(hidden % (heads + 2 * shared) == 0, ErrorCode::bad_data,
          "the query is {}, which does not divide into {} heads of queries and twice {} of keys",
          sides[0]->type.to_string(), heads, shared);
    const std::int64_t size = hidden / (heads + 2 * shared);
    sides = emit.split(sides[0], -1, {heads * size, shared * size, shared * size});
  }
  check(sides[2] != nullptr, ErrorCode::bad_data, "a key is given and no value");
  Value* q = split_heads(context, sides[0], heads, "the query");
  Value* k = split_heads(context, sides[1], shared, "the key");
  const auto normalized = [&](Value* x, std::size_t scale) {
    if (!context.has(scale)) return x;
    return emit("rms_normalization", {x, context.input(scale)},
                {{"epsilon", context.real("qk_norm_epsilon", static_cast<double>(1e-6F))}});
  };
  q = normalized(q, 14), k = normalized(k, 15);
  if (context.integer("do_rotary", 0) != 0) {
    const Rotation rotation{context.required(7), context.required(8),
                            context.integer("rotary_interleaved", 0) != 0};
    Value* positions = context.has(9) ? context.input(9)
                                      : emit.add(emit.count(step.sequence), emit.unsqueeze(step.past, {1}));
    const std::int64_t size = known_size(q, 3, "the query");
    q = rotated(context, q, positions, rotation, size);
    k = rotated(context, k, positions, rotation, size);
  }
  return {q, k, split_heads(context, sides[2], shared, "the value")};
}

void refuse_other_caches(RuleContext& context) {
  refuse_attribute(context, "sliding_window_cache");
  for (const char* name : {"k_quant_type", "v_quant_type"})
    check(context.string(name, "NONE") == "NONE", ErrorCode::unsupported,
          "attribute {} is '{}'; this version supports caches that are not quantised", name,
          context.string(name, ""));
}

void group_query_attention(RuleContext& context) {
  refuse_other_caches(context);
  Emitter emit(context);
  const Step step = step_of(context, context.required(0));
  AttentionParts parts = step_parts(context, step);
  Value* const cached_k = extended(context, 3, parts.k, step);
  Value* const cached_v = extended(context, 4, parts.v, step);
  const DType type = parts.q->type.dtype();
  // A cache may be longer than the tokens it holds.
  parts.k = context.has(3) ? emit.slice(cached_k, 2, 0, step.total) : cached_k;
  parts.v = context.has(4) ? emit.slice(cached_v, 2, 0, step.total) : cached_v;
  Value* seen = visible(context, step, emit.size(parts.k, 2));
  parts.bias = emit.where(seen, context.has(10) ? context.input(10) : context.scalar(type, 0),
                          context.scalar(type, lowest(type)));
  parts.sinks = context.input(11);
  if (!parts.sinks && context.integer("smooth_softmax", 0) == 1) {
    parts.sinks = emit.repeated(context.scalar(type, 0), head_count(context, "num_heads"));
  }
  parts.scale = context.real("scale", 0);
  parts.softcap = context.real("softcap", 0);
  const AttentionResult result = attention_of(context, parts);
  context.set_output(0, result.output);
  context.set_output(1, cached_k);
  context.set_output(2, cached_v);
  context.set_output(3, context.integer("qk_output", 0) == 2 ? result.weights : result.scores);
}

} // namespace

void add_microsoft_group_attention_rules(Rules& rules) {
  const std::string domain = "com.microsoft.";
  rules[domain + "RotaryEmbedding"] = rotary_embedding;
  rules[domain + "GroupQueryAttention"] = group_query_attention;
}

} // namespace lanner::onnx
