// Multi-head attention as ONNX Runtime's optimisers write it, by the definitions in its documentation
// (docs/ContribOperators.md).

#include <limits>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/onnx/attention.h"
#include "importers/onnx/rules.h"

namespace lanner::onnx {
namespace {

/// The score of masked keys, where the file does not give one.
constexpr double usual_filter = -10000;

/// Lengths of keys [batch], or these and then their starts [2 batch], as a mask [batch, 1, 1, keys].
Value* mask_of_lengths(RuleContext& context, Value* lengths, Value* batch, Value* keys) {
  Emitter emit(context);
  Value* list = emit.cast(lengths, DType::i64);
  const Tensor zero = Tensor::from<std::int64_t>(std::vector<std::int64_t>{0}, {1});
  Value* none = emit("constant_of_shape", {batch}, {{"value", zero}});
  Value* starts = emit.slice(emit.concat({list, none}, 0), 0, batch, emit.add(batch, batch));
  const auto column = [&](Value* x) { return emit.reshape(x, {-1, 1, 1, 1}); };
  Value* places = emit.count(keys);
  Value* before_end = emit("less", {places, column(emit.slice(list, 0, 0, batch))});
  return emit("and", {before_end, emit("greater_or_equal", {places, column(starts)})});
}

/// 1 where a key is attended to: [batch, keys], [batch, sequence, keys] or [batch, 1, most, most], where the
/// rows after the past belong to the queries.
Value* mask_of_flags(RuleContext& context, Value* flags, Value* past, Value* sequence, Value* keys) {
  Emitter emit(context);
  const std::size_t rank = known_rank(flags, "the mask");
  Value* mask = emit("greater", {flags, emit.number(flags, 0)});
  if (rank == 2) return emit.unsqueeze(mask, {1, 2});
  if (rank == 3) return emit.unsqueeze(mask, {1});
  check(rank == 4, ErrorCode::bad_data, "the mask is {}, expected rank 1 to 4", flags->type.to_string());
  Value* rows = emit.slice(mask, 2, past, emit.add(past, sequence));
  return emit.slice(rows, 3, 0, keys);
}

struct Masking {
  Value *mask = nullptr, *bias = nullptr; ///< Inputs as given, or null.
  bool causal = false;
};

/// The bias that the mask (of any form), causality and the model's own bias add to the scores of q and k;
/// null: none.
Value* score_bias(RuleContext& context, Value* q, Value* k, const Masking& masking) {
  Emitter emit(context);
  const DType type = q->type.dtype();
  Value *sequence = emit.size(q, 2), *keys = emit.size(k, 2), *past = emit.sub(keys, sequence);
  Value* bias = nullptr;
  if (masking.mask) {
    Value* mask = known_rank(masking.mask, "the mask") == 1
                      ? mask_of_lengths(context, masking.mask, emit.size(q, 0), keys)
                      : mask_of_flags(context, masking.mask, past, sequence, keys);
    bias = bias_of(context, mask, type, context.real("mask_filter_value", usual_filter));
  }
  if (masking.causal) {
    Value* queries = emit.unsqueeze(emit.add(emit.count(sequence), past), {1});
    Value* seen = not_later(context, emit.count(keys), queries);
    Value* zero = bias ? bias : context.scalar(type, 0);
    bias = emit.where(seen, zero, context.scalar(type, lowest(type)));
  }
  return bias ? emit.add_optional(bias, masking.bias) : masking.bias;
}

/// Lengths of padded and packed sequences in one list are used by GPU kernels only.
void check_mask(const Value* mask, const Value* q) {
  if (!mask || !mask->type.ranked() || mask->type.rank() != 1) return;
  const auto length = mask->type.dims()[0].constant(), batch = q->type.dims()[0].constant();
  check(!length || !batch || *length == *batch || *length == 2 * *batch, ErrorCode::unsupported,
        "the mask is {} for a batch of {}, expected one or two numbers an entry", mask->type.to_string(),
        *batch);
}

/// Sizes of q, k and v in a projection of `hidden` columns.
std::vector<std::int64_t> hidden_sizes(RuleContext& context, std::int64_t hidden) {
  std::vector<std::int64_t> sizes = context.integers("qkv_hidden_sizes");
  if (sizes.empty()) sizes = {hidden / 3, hidden / 3, hidden / 3};
  check(sizes.size() == 3 && sizes[0] == sizes[1] && sizes[0] > 0 && sizes[2] > 0 && sizes[2] < hidden &&
            sizes[0] < hidden && 2 * sizes[0] + sizes[2] == hidden,
        ErrorCode::bad_data, "the weights have {} columns, which is not the sum of the sizes of q, k and v",
        hidden);
  return sizes;
}

/// Self-attention on `projection` [batch, sequence, q + k + v], with a past [2, batch, heads, ...].
void self_attention(RuleContext& context, Value* projection, Value* past, const Masking& masking) {
  Emitter emit(context);
  const std::int64_t heads = head_count(context, "num_heads");
  const std::vector<Value*> sides =
      emit.split(projection, -1, hidden_sizes(context, known_size(projection, 2, "the projection")));
  Value* q = split_heads(context, sides[0], heads, "the query");
  Value* k = split_heads(context, sides[1], heads, "the key");
  Value* v = split_heads(context, sides[2], heads, "the value");
  if (past) {
    k = emit.concat({emit.gather(past, emit.integer(0), 0), k}, 2);
    v = emit.concat({emit.gather(past, emit.integer(1), 0), v}, 2);
  }
  check_mask(masking.mask, q);
  AttentionParts parts{.q = q, .k = k, .v = v};
  parts.bias = score_bias(context, q, k, masking);
  parts.scale = context.real("scale", 0);
  context.set_output(0, attention_of(context, parts).output);
  if (context.node.outputs.size() > 1)
    context.set_output(1, emit.concat({emit.unsqueeze(k, {0}), emit.unsqueeze(v, {0})}, 0));
}

void attention(RuleContext& context) {
  refuse_attribute(context, "do_rotary");
  refuse_attribute(context, "past_present_share_buffer");
  refuse_input(context, 6, "past_sequence_length");
  Emitter emit(context);
  Value* projection =
      emit.add_optional(emit.matmul(context.required(0), context.required(1)), context.input(2));
  self_attention(context, projection, context.input(4),
                 {context.input(3), context.input(5), context.integer("unidirectional", 0) != 0});
}

/// Scales are inputs 3 and 4, zero points inputs 6 and 7.
void quantized_attention(RuleContext& context) {
  refuse_attribute(context, "do_rotary");
  refuse_attribute(context, "past_present_share_buffer");
  Emitter emit(context);
  const auto single = [&](Value* x) {
    return x && x->type.is_static() && x->type.shape().elements() == 1 ? emit.scalar_of(x) : x;
  };
  // In f32: sums and products of scales would leave the range of f16.
  const DType type = context.required(3)->type.dtype();
  Value* scale = emit.mul(emit.cast(emit.scalar_of(context.required(3)), DType::f32),
                          emit.cast(single(context.required(4)), DType::f32));
  Value* zero = context.has(6) ? emit.scalar_of(context.input(6)) : nullptr;
  Value* sums =
      emit("matmul_integer", {context.required(0), context.required(1), zero, single(context.input(7))});
  Value* projection = emit.cast(emit.mul(emit.cast(sums, DType::f32), scale), type);
  self_attention(context, emit.add_optional(projection, context.input(2)), context.input(8),
                 {context.input(5), nullptr, context.integer("unidirectional", 0) != 0});
}

/// One side of a packed [batch, sequence, heads, sides, size], or of [tokens, heads, 3, size].
Value* unpacked(RuleContext& context, Value* packed, std::int64_t side) {
  Emitter emit(context);
  return emit.transpose(emit.gather(packed, emit.integer(side), 3), {0, 2, 1, 3});
}

/// q, k and v of MultiHeadAttention in any of its forms, each with its part of the projection bias added.
AttentionParts sides_of(RuleContext& context, Value* bias) {
  Emitter emit(context);
  const std::int64_t heads = head_count(context, "num_heads");
  Value *query = context.required(0), *key = context.input(1), *value = context.input(2);
  if (known_rank(query, "the query") == 5) {
    check(!bias && !key && !value, ErrorCode::unsupported,
          "a packed query (rank 5) together with a bias, a key or a value is not supported");
    return {unpacked(context, query, 0), unpacked(context, query, 1), unpacked(context, query, 2)};
  }
  check(key != nullptr, ErrorCode::bad_data, "the query is {}, expected rank 5 where no key is given",
        query->type.to_string());
  const std::size_t key_rank = known_rank(key, "the key");
  const std::int64_t hidden = known_size(query, 2, "the query");
  Value *q_bias = nullptr, *k_bias = nullptr, *v_bias = nullptr;
  if (bias) {
    const std::int64_t all = known_size(bias, 0, "the bias");
    check(all > 2 * hidden, ErrorCode::bad_data, "the bias is {}, expected more than twice the query's {}",
          bias->type.to_string(), hidden);
    const std::vector<Value*> parts = emit.split(bias, 0, {hidden, hidden, all - 2 * hidden});
    q_bias = parts[0], k_bias = parts[1], v_bias = parts[2];
  }
  Value* q = split_heads(context, emit.add_optional(query, q_bias), heads, "the query");
  // Keys already split into heads come from an encoder and are projected already.
  if (key_rank == 4) return {q, key, context.required(2)};
  if (key_rank == 5) {
    check(!bias && !value, ErrorCode::unsupported,
          "a packed key (rank 5) together with a bias or a value is not supported");
    return {q, unpacked(context, key, 0), unpacked(context, key, 1)};
  }
  return {q, split_heads(context, emit.add_optional(key, k_bias), heads, "the key"),
          split_heads(context, emit.add_optional(context.required(2), v_bias), heads, "the value")};
}

/// Input indices of an operator that attends to given queries, keys and values.
struct InputIndices {
  std::size_t bias, mask, score_bias, past_key, past_value, past_length;
};

/// A cache of keys or values, and the part of it that is attended to.
struct Cached {
  Value *whole, *seen;
};

/// With a past length the cache has its final size and the step is written into it.
Cached cached(RuleContext& context, std::size_t past, std::size_t past_length, Value* fresh) {
  if (!context.has(past)) return {fresh, fresh};
  Emitter emit(context);
  if (!context.has(past_length)) {
    Value* both = emit.concat({context.input(past), fresh}, 2);
    return {both, both};
  }
  Value* before = emit.reshape(emit.cast(context.input(past_length), DType::i64), {1});
  Value* starts = emit("expand", {before, emit.size(fresh, 0)});
  const std::int64_t axis = 2;
  Value* whole = emit("tensor_scatter", {context.input(past), fresh, starts}, {{"axis", axis}});
  return {whole, emit.slice(whole, 2, 0, emit.add(before, emit.size(fresh, 2)))};
}

void attend(RuleContext& context, const InputIndices& places) {
  AttentionParts parts = sides_of(context, context.input(places.bias));
  check(context.has(places.past_key) == context.has(places.past_value), ErrorCode::bad_data,
        "one of past_key and past_value is given, expected both or none");
  const Cached k = cached(context, places.past_key, places.past_length, parts.k);
  const Cached v = cached(context, places.past_value, places.past_length, parts.v);
  parts.k = k.seen, parts.v = v.seen;
  check_mask(context.input(places.mask), parts.q);
  parts.bias = score_bias(context, parts.q, parts.k,
                          {context.input(places.mask), context.input(places.score_bias),
                           context.integer("unidirectional", 0) != 0});
  parts.scale = context.real("scale", 0);
  const AttentionResult result = attention_of(context, parts);
  context.set_output(0, result.output);
  context.set_output(1, k.whole);
  context.set_output(2, v.whole);
  context.set_output(3, result.scores);
}

void multi_head_attention(RuleContext& context) {
  refuse_input(context, 9, "cache_indirection");
  attend(context, {.bias = 3, .mask = 4, .score_bias = 5, .past_key = 6, .past_value = 7, .past_length = 8});
}

/// One step of a decoder; beams that share a cache are not supported.
void decoder_masked_attention(RuleContext& context) {
  refuse_input(context, 9, "cache_indirection");
  attend(context, {.bias = 10, .mask = 3, .score_bias = 4, .past_key = 5, .past_value = 6, .past_length = 7});
}

/// Whether two tokens of concatenated sequences, with cumulative ends `ends`, belong to the same sequence:
/// [1, 1, tokens, tokens].
Value* same_sequence(RuleContext& context, Value* tokens, Value* ends) {
  Emitter emit(context);
  Value* places = emit.unsqueeze(emit.count(tokens), {1});
  Value* passed = emit("less_or_equal", {emit.cast(ends, DType::i64), places});
  Value* number =
      emit("reduce_sum", {emit.cast(passed, DType::i64), context.ints({1})}, {{"keepdims", std::int64_t{0}}});
  return emit("equal", {emit.unsqueeze(number, {0, 1, 2}), emit.unsqueeze(number, {0, 1, 3})});
}

/// Attention within each sequence of a batch without padding: the inputs are [tokens, hidden].
void packed_sequences(RuleContext& context, Value* q, Value* k, Value* v, Value* ends) {
  Emitter emit(context);
  const std::int64_t heads = head_count(context, "num_heads");
  AttentionParts parts{split_heads(context, emit.unsqueeze(q, {0}), heads, "the query"),
                       split_heads(context, emit.unsqueeze(k, {0}), heads, "the key"),
                       split_heads(context, emit.unsqueeze(v, {0}), heads, "the value")};
  const DType type = q->type.dtype();
  parts.bias = bias_of(context, same_sequence(context, emit.size(q, 0), ends), type, lowest(type));
  parts.scale = context.real("scale", 0);
  context.set_output(0, emit.squeeze(attention_of(context, parts).output, {0}));
}

void packed_attention(RuleContext& context) {
  refuse_input(context, 5, "attention_bias");
  Emitter emit(context);
  Value* projection =
      emit.add_optional(emit.matmul(context.required(0), context.required(1)), context.input(2));
  const std::vector<Value*> sides =
      emit.split(projection, -1, hidden_sizes(context, known_size(projection, 1, "the projection")));
  packed_sequences(context, sides[0], sides[1], sides[2], context.required(4));
}

void packed_multi_head_attention(RuleContext& context) {
  refuse_input(context, 6, "attention_bias");
  Emitter emit(context);
  Value *query = context.required(0), *bias = context.input(3);
  std::vector<Value*> sides = {query, context.input(1), context.input(2)};
  if (known_rank(query, "the query") == 4) {
    const std::int64_t hidden = known_size(query, 1, "the query") * known_size(query, 3, "the query");
    for (std::int64_t side = 0; side < 3; ++side)
      sides[static_cast<std::size_t>(side)] =
          emit.reshape(emit.gather(query, emit.integer(side), 2), {0, hidden});
  }
  check(sides[1] && sides[2], ErrorCode::bad_data, "the query is {}, expected rank 4 where no key is given",
        query->type.to_string());
  if (bias) {
    const std::int64_t hidden = known_size(sides[0], 1, "the query"),
                       wide = known_size(sides[2], 1, "the value");
    const std::vector<Value*> parts = emit.split(bias, 0, {hidden, hidden, wide});
    for (std::size_t i = 0; i < 3; ++i) sides[i] = emit.add(sides[i], parts[i]);
  }
  packed_sequences(context, sides[0], sides[1], sides[2], context.required(5));
}

} // namespace

void add_microsoft_attention_rules(Rules& rules) {
  const std::string domain = "com.microsoft.";
  rules[domain + "Attention"] = attention;
  rules[domain + "QAttention"] = quantized_attention;
  rules[domain + "MultiHeadAttention"] = multi_head_attention;
  rules[domain + "DecoderMaskedMultiHeadAttention"] = decoder_masked_attention;
  rules[domain + "PackedAttention"] = packed_attention;
  rules[domain + "PackedMultiHeadAttention"] = packed_multi_head_attention;
}

} // namespace lanner::onnx
