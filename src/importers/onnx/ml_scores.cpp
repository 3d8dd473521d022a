#include "importers/onnx/ml_scores.h"

#include <string>

#include "base/check.h"

namespace lanner::onnx {
namespace {

std::string transform_of(const RuleContext& context) {
  std::string name = context.string("post_transform", "NONE");
  check(name == "NONE" || name == "SOFTMAX" || name == "LOGISTIC", ErrorCode::unsupported,
        "attribute post_transform is '{}', expected NONE, SOFTMAX or LOGISTIC", name);
  return name;
}

Value* pair_of(RuleContext& context, Value* first, Value* second) {
  AttributeMap columns;
  columns.set("axis", std::int64_t{1});
  return context.emit("concat", {first, second}, columns);
}

Value* picked(RuleContext& context, const Labels& labels, Value* places) {
  AttributeMap first;
  first.set("axis", std::int64_t{0});
  return context.emit("gather", {labels.list, places}, first);
}

} // namespace

Value* in_type(RuleContext& context, Value* value, DType type) {
  if (value->type.dtype() == type) return value;
  AttributeMap to;
  to.set("to", type);
  return context.emit("cast", {value}, to);
}

Value* as_reals(RuleContext& context, Value* value) {
  return value->type.dtype() == DType::f64 ? value : in_type(context, value, DType::f32);
}

Value* with_offsets(RuleContext& context, Value* scores, const std::vector<double>& offsets) {
  if (offsets.empty()) return scores;
  const std::vector<float> narrow(offsets.begin(), offsets.end());
  return context.emit(
      "add",
      {scores, context.tensor(Tensor::from<float>(narrow, {static_cast<std::int64_t>(narrow.size())}))});
}

Value* transformed(RuleContext& context, Value* scores) {
  const std::string transform = transform_of(context);
  if (transform == "LOGISTIC") return context.emit("sigmoid", {scores});
  if (transform == "NONE") return scores;
  AttributeMap last;
  last.set("axis", std::int64_t{-1});
  return context.emit("softmax", {scores}, last);
}

Labels labels_of(RuleContext& context, const char* integers) {
  if (context.has_attribute("classlabels_strings")) {
    const auto& names = context.get<std::vector<std::string>>("classlabels_strings", "strings");
    if (!names.empty()) {
      const auto count = static_cast<std::int64_t>(names.size());
      return {count, context.tensor(Tensor::from<std::string>(names, {count}))};
    }
  }
  const std::vector<std::int64_t> numbers = context.integers(integers);
  check(!numbers.empty(), ErrorCode::bad_data, "attributes classlabels_strings and {} are missing", integers);
  return {static_cast<std::int64_t>(numbers.size()), context.ints(numbers)};
}

void set_classes(RuleContext& context, const Labels& labels, Value* scores, Value* candidates) {
  AttributeMap last;
  last.set("axis", std::int64_t{-1});
  last.set("keepdims", std::int64_t{0});
  context.set_output(0, picked(context, labels, context.emit("arg_max", {candidates}, last)));
  if (context.node.outputs.size() > 1) context.set_output(1, transformed(context, scores));
}

void set_two_classes(RuleContext& context, const Labels& labels, Value* score, bool positive) {
  const std::string transform = transform_of(context);
  check(transform == "NONE" || (transform == "LOGISTIC" && !positive), ErrorCode::unsupported,
        "attribute post_transform is '{}' over two classes of which one is scored{}", transform,
        positive ? " by positive weights" : "");
  Value* above = context.emit("greater", {score, context.scalar(DType::f32, positive ? 0.5 : 0.0)});
  Value* places = context.emit("reshape", {in_type(context, above, DType::i64), context.ints({-1})});
  context.set_output(0, picked(context, labels, places));
  if (context.node.outputs.size() < 2) return;
  Value* other =
      positive ? context.emit("sub", {context.scalar(DType::f32, 1), score}) : context.emit("neg", {score});
  Value* both = pair_of(context, other, score);
  context.set_output(1, transform == "LOGISTIC" ? context.emit("sigmoid", {both}) : both);
}

} // namespace lanner::onnx
