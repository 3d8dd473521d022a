#include "importers/onnx/attention.h"

#include <algorithm>
#include <cmath>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/onnx/rules.h"
#include "tensor/largest_finite.h"

namespace lanner::onnx {
namespace {

/// Stacks the queries of heads that share keys: [batch, key heads, group * sequence, size].
Value* grouped(RuleContext& context, Value* q, std::int64_t heads, std::int64_t key_heads) {
  check(key_heads > 0 && heads % key_heads == 0, ErrorCode::bad_data,
        "{} heads of queries are not a multiple of {} heads of keys", heads, key_heads);
  if (heads == key_heads) return q;
  const std::int64_t size = known_size(q, 3, "the query");
  return Emitter(context).reshape(q, {0, key_heads, -1, size});
}

/// Undoes grouped: splits the heads of `grouped` again.
Value* ungrouped(RuleContext& context, Value* x, std::int64_t heads, std::int64_t key_heads, Size last) {
  if (heads == key_heads) return x;
  return Emitter(context).reshape(x, {0, heads, -1, last});
}

/// Softmax over the scores and the sink, without the sink's column.
Value* softmax_with_sinks(RuleContext& context, Value* scores, Value* sinks, std::int64_t heads) {
  Emitter emit(context);
  Value* one = context.ints({1});
  Value* shape = emit.concat({emit.size(scores, 0), context.ints({heads}), emit.size(scores, 2), one}, 0);
  Value* column = emit("expand", {emit.reshape(sinks, {1, -1, 1, 1}), shape});
  Value* weights = emit.softmax(emit.concat({scores, column}, 3), -1);
  return emit.slice(weights, 3, 0, emit.size(scores, 3));
}

} // namespace

AttentionResult attention_of(RuleContext& context, const AttentionParts& parts) {
  Emitter emit(context);
  const std::int64_t heads = known_size(parts.q, 1, "the query"), size = known_size(parts.q, 3, "the query");
  const std::int64_t key_heads = known_size(parts.k, 1, "the key");
  const double scale = parts.scale != 0 ? parts.scale : 1 / std::sqrt(static_cast<double>(size));
  Value* products =
      emit.matmul(grouped(context, parts.q, heads, key_heads), emit.transpose(parts.k, {0, 1, 3, 2}));
  products = ungrouped(context, products, heads, key_heads, emit.size(parts.k, 2));
  Value* scores = emit.times(products, scale);
  if (parts.softcap != 0)
    scores = emit.times(emit("tanh", {emit.times(scores, 1 / parts.softcap)}), parts.softcap);
  scores = emit.add_optional(scores, parts.bias);
  Value* weights =
      parts.sinks ? softmax_with_sinks(context, scores, parts.sinks, heads) : emit.softmax(scores, -1);
  const std::int64_t width = known_size(parts.v, 3, "the value");
  Value* rows = weights;
  if (heads != key_heads) rows = emit.reshape(weights, {0, key_heads, -1, emit.size(parts.k, 2)});
  Value* y = ungrouped(context, emit.matmul(rows, parts.v), heads, key_heads, width);
  Value* merged = emit.reshape(emit.transpose(y, {0, 2, 1, 3}), {0, 0, heads * width});
  return {merged, scores, weights};
}

Value* split_heads(RuleContext& context, Value* x, std::int64_t heads, std::string_view what) {
  check(known_rank(x, what) == 3, ErrorCode::bad_data, "{} is {}, expected rank 3", what,
        x->type.to_string());
  const std::int64_t hidden = known_size(x, 2, what);
  check(hidden % heads == 0, ErrorCode::bad_data, "{} is {}: its last dim does not divide into {} heads",
        what, x->type.to_string(), heads);
  Emitter emit(context);
  return emit.transpose(emit.reshape(x, {0, 0, heads, hidden / heads}), {0, 2, 1, 3});
}

std::int64_t head_count(RuleContext& context, const char* name) {
  const auto heads = context.get<std::int64_t>(name, "an integer");
  check(heads >= 1 && heads <= INT32_MAX, ErrorCode::bad_data, "attribute {} is {}, expected at least 1",
        name, heads);
  return heads;
}

double lowest(DType type) {
  return -largest_finite(type);
}

Value* bias_of(RuleContext& context, Value* mask, DType type, double filtered) {
  // Minus infinity in a whole row would make its softmax NaN.
  const double finite = std::max(filtered, lowest(type));
  return Emitter(context).where(mask, context.scalar(type, 0), context.scalar(type, finite));
}

Value* not_later(RuleContext& context, Value* keys, Value* queries) {
  return context.emit("less_or_equal", {keys, queries});
}

void refuse_input(RuleContext& context, std::size_t i, std::string_view name) {
  check(!context.has(i), ErrorCode::unsupported, "input {} is given, which this version does not support",
        name);
}

void refuse_attribute(RuleContext& context, const char* name, std::int64_t usual) {
  const std::int64_t given = context.integer(name, usual);
  check(given == usual, ErrorCode::unsupported, "attribute {} is {}; this version supports {} only", name,
        given, usual);
}

} // namespace lanner::onnx
