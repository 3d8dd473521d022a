// Attention whose scores are modified by the model's own subgraphs (domain ai.onnx.preview).

#include <cmath>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/onnx/rules.h"

namespace lanner::onnx {
namespace {

std::int64_t known_dim(const Value* value, std::size_t d, const char* what) {
  check(value->type.ranked() && value->type.rank() == 4, ErrorCode::bad_data, "{}: {}, expected rank 4", what,
        value->type.to_string());
  const auto size = value->type.dims()[d].constant();
  check(size.has_value(), ErrorCode::unsupported, "{}: {}, its number of heads and their size must be known",
        what, value->type.to_string());
  return *size;
}

/// Repeats each head of keys or values for the consecutive query heads that share it.
Value* repeated_heads(RuleContext& context, Value* x, std::int64_t heads, std::int64_t query_heads) {
  check(heads > 0 && query_heads % heads == 0, ErrorCode::bad_data, "{} heads of queries do not divide by {}",
        query_heads, heads);
  if (heads == query_heads) return x;
  std::vector<std::int64_t> places;
  for (std::int64_t h = 0; h < query_heads; ++h) places.push_back(h / (query_heads / heads));
  AttributeMap axis;
  axis.set("axis", std::int64_t{1});
  return context.emit("gather", {x, context.ints(places)}, axis);
}

Value* modified(RuleContext& context, std::string_view name, Value* x) {
  if (!context.has_attribute(name)) return x;
  const auto& graph = context.get<std::shared_ptr<ImportGraph>>(name, "a graph");
  const std::vector<Value*> results = context.inline_graph(*graph, {x});
  check(results.size() == 1, ErrorCode::bad_data, "attribute {}: the graph gives {} values, expected 1", name,
        results.size());
  return results[0];
}

Value* cast_to(RuleContext& context, Value* x, DType type) {
  AttributeMap to;
  to.set("to", type);
  return x->type.dtype() == type ? x : context.emit("cast", {x}, to);
}

void flex_attention(RuleContext& context) {
  Value *q = context.required(0), *k = context.required(1), *v = context.required(2);
  const std::int64_t heads = known_dim(q, 1, "Q"), size = known_dim(q, 3, "Q");
  k = repeated_heads(context, k, known_dim(k, 1, "K"), heads);
  v = repeated_heads(context, v, known_dim(v, 1, "V"), heads);
  AttributeMap swap, last;
  swap.set("perm", std::vector<std::int64_t>{0, 1, 3, 2});
  last.set("axis", std::int64_t{-1});
  const DType type = q->type.dtype();
  const DType precision = context.has_attribute("softmax_precision") ? context.dtype("softmax_precision")
                          : type == DType::f64                       ? DType::f64
                                                                     : DType::f32;
  Value* products = context.emit("matmul", {q, context.emit("transpose", {k}, swap)});
  const double scale = context.real("scale", 1 / std::sqrt(static_cast<double>(size)));
  Value* scores = cast_to(context, context.emit("mul", {products, context.scalar(type, scale)}), precision);
  Value* weights = context.emit("softmax", {modified(context, "score_mod", scores)}, last);
  weights = cast_to(context, modified(context, "prob_mod", weights), v->type.dtype());
  context.set_output(0, context.emit("matmul", {weights, v}));
}

} // namespace

void add_attention_rules(Rules& rules) {
  rules["ai.onnx.preview.FlexAttention"] = flex_attention;
}

} // namespace lanner::onnx
