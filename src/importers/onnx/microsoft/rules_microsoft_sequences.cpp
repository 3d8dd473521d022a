// Padding removed and restored, relative position biases and recurrent states, as ONNX Runtime's tools for
// language models write them (docs/ContribOperators.md).

#include <cmath>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/onnx/attention.h"
#include "importers/onnx/rules.h"

namespace lanner::onnx {
namespace {

/// Indices at which a list of flags [n] is set.
Value* indices_where(RuleContext& context, Value* flags) {
  Emitter emit(context);
  return emit.flat(emit("non_zero", {flags}));
}

/// The tokens of a batch without padding, and the original index of each; the indices of the padding come
/// last.
void remove_padding(RuleContext& context) {
  Emitter emit(context);
  Value *x = context.required(0), *counts = emit.cast(context.required(1), DType::i64);
  Value *batch = emit.size(x, 0), *sequence = emit.size(x, 1);
  Value* kept = emit.flat(emit("less", {emit.count(sequence), emit.unsqueeze(counts, {1})}));
  Value* tokens = indices_where(context, kept);
  Value* rows = emit.reshape(x, {-1, known_size(x, 2, "the input")});
  context.set_output(0, emit.gather(rows, tokens, 0));
  Value* places = emit.concat({tokens, indices_where(context, emit("not", {kept}))}, 0);
  context.set_output(1, emit.cast(emit.reshape(places, {batch, sequence}), DType::i32));
  Value* ends = emit("cum_sum", {counts, emit.integer(0)});
  context.set_output(2, emit.cast(emit.concat({context.ints({0}), ends}, 0), DType::i32));
  const std::int64_t keep = 1;
  context.set_output(
      3, emit.cast(emit("reduce_max", {counts, context.ints({0})}, {{"keepdims", keep}}), DType::i32));
}

/// Puts zeros back where the padding was.
void restore_padding(RuleContext& context) {
  Emitter emit(context);
  Value *x = context.required(0), *offsets = emit.cast(context.required(1), DType::i64);
  const std::int64_t hidden = known_size(x, 1, "the input");
  Value* places = emit.slice(emit.flat(offsets), 0, 0, emit.size(x, 0));
  Value* count = emit.reshape(emit("size", {offsets}), {1});
  Tensor zero = Tensor::allocate(x->type.dtype(), {1});
  copy_tensor(Tensor::from<float>(std::vector<float>{0}, {1}), zero);
  Value* empty =
      emit("constant_of_shape", {emit.concat({count, context.ints({hidden})}, 0)}, {{"value", zero}});
  Value* rows = emit("scatter_nd", {empty, emit.unsqueeze(places, {1}), x});
  context.set_output(0, emit.reshape(rows, {emit.size(offsets, 0), emit.size(offsets, 1), hidden}));
}

/// The bucket of each distance between keys and queries: near distances have one each, far ones share them
/// logarithmically (Raffel et al., "Exploring the Limits of Transfer Learning", 2020).
Value* buckets_of(RuleContext& context, Value* distance, std::int64_t buckets, bool both_ways,
                  std::int64_t farthest) {
  Emitter emit(context);
  const std::int64_t side = both_ways ? buckets / 2 : buckets, near = side / 2;
  check(near >= 1 && farthest > near, ErrorCode::bad_data,
        "{} buckets for distances up to {}, expected more distances than buckets", buckets, farthest);
  Value* away = both_ways ? emit("abs", {distance}) : emit("neg", {emit("min", {distance, emit.integer(0)})});
  Value* reals = emit("max", {emit.cast(away, DType::f32), context.scalar(DType::f32, 1)});
  const double spread =
      static_cast<double>(side - near) / std::log(static_cast<double>(farthest) / static_cast<double>(near));
  Value* logarithm = emit("log", {emit.times(reals, 1 / static_cast<double>(near))});
  Value* far = emit.cast(emit.times(logarithm, spread), DType::i64);
  far = emit("min", {emit.plus(far, static_cast<double>(near)), emit.integer(side - 1)});
  Value* bucket = emit.where(emit("less", {away, emit.integer(near)}), away, far);
  if (!both_ways) return bucket;
  Value* later = emit.cast(emit("greater", {distance, emit.integer(0)}), DType::i64);
  return emit.add(bucket, emit.times(later, static_cast<double>(side)));
}

/// The table is stored head by head, whatever its shape says.
void relative_position_bias(RuleContext& context) {
  Emitter emit(context);
  Value* table = context.required(0);
  const std::int64_t buckets = known_size(table, 0, "the table"), heads = known_size(table, 1, "the table");
  const auto places = [&](std::size_t i) {
    return emit.count(emit.reshape(emit.cast(context.required(i), DType::i64), {1}));
  };
  Value* distance = emit.sub(places(2), emit.unsqueeze(places(1), {1}));
  Value* bucket = buckets_of(context, distance, buckets, context.integer("is_bidirectional", 0) != 0,
                             context.get<std::int64_t>("max_distance", "an integer"));
  Value* bias = emit.gather(emit.reshape(table, {heads, buckets}), bucket, 1);
  context.set_output(0, emit.unsqueeze(bias, {0}));
}

/// A relative position bias, scaled by gates computed from the queries.
void gated_relative_position_bias(RuleContext& context) {
  refuse_input(context, 6, "token_offset");
  Emitter emit(context);
  const std::int64_t heads = head_count(context, "num_heads");
  Value* queries =
      split_heads(context, emit.add(context.required(0), context.required(1)), heads, "the query");
  Value* wide = emit.add(emit.matmul(queries, context.required(3)), context.required(4));
  const std::int64_t width = known_size(context.required(4), 0, "the bias");
  check(width % 2 == 0, ErrorCode::bad_data, "the bias has {} numbers, expected an even count", width);
  const std::int64_t dropped = 0;
  Value* sums = emit("reduce_sum", {emit.reshape(wide, {0, 0, 0, 2, width / 2}), context.ints({-1})},
                     {{"keepdims", dropped}});
  const std::vector<Value*> gates = emit.split(emit.sigmoid(sums), -1, {1, 1});
  Value* inner = emit.plus(emit.mul(gates[1], context.required(5)), -1);
  Value* gate = emit.plus(emit.mul(gates[0], inner), 2);
  context.set_output(0, emit.mul(gate, context.required(2)));
}

/// As ONNX's own, except for features of newer versions of ONNX Runtime.
void linear_attention(RuleContext& context) {
  refuse_attribute(context, "state_window");
  direct_as(context, "linear_attention", {"state_window"});
}

void causal_conv_with_state(RuleContext& context) {
  refuse_attribute(context, "state_window");
  refuse_attribute(context, "channels_last");
  refuse_attribute(context, "dilation", 1);
  refuse_attribute(context, "ndim", 1);
  direct_as(context, "causal_conv_with_state", {"state_window", "channels_last", "dilation", "ndim"});
}

} // namespace

void add_microsoft_sequence_rules(Rules& rules) {
  const std::string domain = "com.microsoft.";
  rules[domain + "RemovePadding"] = remove_padding;
  rules[domain + "RestorePadding"] = restore_padding;
  rules[domain + "RelativePositionBias"] = relative_position_bias;
  rules[domain + "GatedRelativePositionBias"] = gated_relative_position_bias;
  rules[domain + "LinearAttention"] = linear_attention;
  rules[domain + "CausalConvWithState"] = causal_conv_with_state;
}

} // namespace lanner::onnx
