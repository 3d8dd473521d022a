// Reductions, maxima, minima and their indices.

#include <lanner/error.h>

#include "importers/tensorflow/rules/rules.h"

namespace lanner::tensorflow {
namespace {

/// Narrow integers are reduced as i32, whose sums and products wrap to the same bits; extremes of any type as
/// they are.
Value* reducible(RuleContext& context, Value* x) {
  const DType type = x->type.dtype();
  return !is_real(x) && bit_width(type) < 32 && type != DType::boolean ? cast(context, x, DType::i32) : x;
}

Value* reduce(RuleContext& context, const char* op, Value* x) {
  AttributeMap attributes;
  attributes.set("keepdims", context.integer("keep_dims", context.integer("keepdims", 0)));
  // An empty list of axes means no reduction.
  attributes.set("noop_with_empty_axes", std::int64_t{1});
  return context.emit(op, {x, integer_list(context, 1)}, std::move(attributes));
}

Rule reduction(const char* op) {
  return [op](RuleContext& context) {
    Value* x = context.required(0);
    context.set_output(0, cast(context, reduce(context, op, reducible(context, x)), x->type.dtype()));
  };
}

/// All is the least of 0 and 1, Any the opposite of All on the opposites: of nothing that is right too.
void all(RuleContext& context) {
  Value* numbers = cast(context, context.required(0), DType::i32);
  context.set_output(0, cast(context, reduce(context, "reduce_min", numbers), DType::boolean));
}

void any(RuleContext& context) {
  Value* numbers = cast(context, context.emit("not", {context.required(0)}), DType::i32);
  Value* none = cast(context, reduce(context, "reduce_min", numbers), DType::boolean);
  context.set_output(0, context.emit("not", {none}));
}

constexpr const char* nan_found =
    "of a row with NaN the place of NaN is given, as NumPy does; TensorFlow passes over NaN";

Rule arg_reduce(const char* op) {
  return [op](RuleContext& context) {
    AttributeMap attributes;
    attributes.set("axis", known_axis(context, 1, rank_of(context, 0)));
    attributes.set("keepdims", std::int64_t{0});
    Value* x = context.required(0);
    if (x->type.dtype() == DType::boolean) x = cast(context, x, DType::i32);
    Value* index = context.emit(op, {x}, std::move(attributes));
    const DType type = context.has_attribute("output_type") ? context.dtype("output_type") : DType::i64;
    context.set_output(0, cast(context, index, type));
  };
}

void top_k(RuleContext& context) {
  AttributeMap attributes = with("axis", std::int64_t{-1});
  attributes.set("sorted", context.integer("sorted", 1));
  Value* k = context.node.op == "TopK" ? context.ints({context.integer("k", 0)}) : integer_list(context, 1);
  Node* made = context.emit_node("top_k", {context.required(0), k}, std::move(attributes), 2);
  const DType type = context.has_attribute("index_type") ? context.dtype("index_type") : DType::i32;
  context.set_output(0, made->output(0));
  context.set_output(1, cast(context, made->output(1), type));
}

} // namespace

void add_reduction_rules(Rules& rules) {
  rules["Mean"] = reduction("reduce_mean");
  rules["Sum"] = reduction("reduce_sum");
  rules["Max"] = reduction("reduce_max");
  rules["Min"] = reduction("reduce_min");
  rules["Prod"] = reduction("reduce_prod");
  rules["All"] = all;
  rules["Any"] = any;
  rules["EuclideanNorm"] = reduction("reduce_l2");
  rules["ArgMax"] = {arg_reduce("arg_max"), {}, {nan_found}};
  rules["ArgMin"] = {arg_reduce("arg_min"), {}, {nan_found}};
  rules["TopK"] = rules["TopKV2"] = top_k;
  note_limit(rules, {"ArgMax", "ArgMin"}, open_setting);
}

} // namespace lanner::tensorflow
