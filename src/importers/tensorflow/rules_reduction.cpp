// Reductions, maxima, minima and their indices.

#include <lanner/error.h>

#include "importers/tensorflow/rules.h"

namespace lanner::tensorflow {
namespace {

Value* reduce(RuleContext& context, const char* op, Value* x) {
  AttributeMap attributes;
  attributes.set("keepdims", context.integer("keep_dims", context.integer("keepdims", 0)));
  // An empty list of axes means no reduction.
  attributes.set("noop_with_empty_axes", std::int64_t{1});
  return context.emit(op, {x, integer_list(context, 1)}, std::move(attributes));
}

Rule reduction(const char* op) {
  return [op](RuleContext& context) { context.set_output(0, reduce(context, op, context.required(0))); };
}

/// Reductions of booleans, computed on 0 and 1.
Rule logical_reduction(const char* op) {
  return [op](RuleContext& context) {
    Value* numbers = cast(context, context.required(0), DType::i32);
    context.set_output(0, cast(context, reduce(context, op, numbers), DType::boolean));
  };
}

void euclidean_norm(RuleContext& context) {
  context.set_output(0, reduce(context, "reduce_l2", context.required(0)));
}

Rule arg_reduce(const char* op) {
  return [op](RuleContext& context) {
    AttributeMap attributes;
    attributes.set("axis", known_axis(context, 1, rank_of(context, 0)));
    attributes.set("keepdims", std::int64_t{0});
    Value* index = context.emit(op, {context.required(0)}, std::move(attributes));
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

void cumulative_sum(RuleContext& context) {
  AttributeMap attributes;
  attributes.set("exclusive", context.integer("exclusive", 0));
  attributes.set("reverse", context.integer("reverse", 0));
  context.set_output(
      0, context.emit("cum_sum", {context.required(0), integers(context, 1)}, std::move(attributes)));
}

} // namespace

void add_reduction_rules(Rules& rules) {
  rules["Mean"] = reduction("reduce_mean");
  rules["Sum"] = reduction("reduce_sum");
  rules["Max"] = reduction("reduce_max");
  rules["Min"] = reduction("reduce_min");
  rules["Prod"] = reduction("reduce_prod");
  rules["All"] = logical_reduction("reduce_min");
  rules["Any"] = logical_reduction("reduce_max");
  rules["EuclideanNorm"] = euclidean_norm;
  rules["ArgMax"] = arg_reduce("arg_max");
  rules["ArgMin"] = arg_reduce("arg_min");
  rules["TopK"] = rules["TopKV2"] = top_k;
  rules["Cumsum"] = cumulative_sum;
}

} // namespace lanner::tensorflow
