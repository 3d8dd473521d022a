// Operators of classical machine learning (domain ai.onnx.ml) that others express.

#include <algorithm>
#include <cmath>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/onnx/rules.h"

namespace lanner::onnx {
namespace {

void array_feature_extractor(RuleContext& context) {
  Value *x = context.required(0),
        *places = context.emit("reshape", {context.required(1), context.ints({-1})});
  if (x->type.ranked() && x->type.rank() == 1) x = context.emit("unsqueeze", {x, context.ints({0})});
  AttributeMap axis;
  axis.set("axis", std::int64_t{-1});
  context.set_output(0, context.emit("gather", {x, places}, axis));
}

void binarizer(RuleContext& context) {
  Value* x = context.required(0);
  AttributeMap to;
  to.set("to", x->type.dtype());
  Value* above = context.emit("greater", {x, context.scalar(x->type.dtype(), context.real("threshold", 0))});
  context.set_output(0, context.emit("cast", {above}, to));
}

/// The list that a LabelEncoder has as `keys_...` or `values_...`.
Tensor list_of(const RuleContext& context, const std::string& prefix) {
  if (context.has_attribute(prefix + "_tensor")) return context.get<Tensor>(prefix + "_tensor", "a tensor");
  if (context.has_attribute(prefix + "_int64s")) {
    const auto values = context.integers(prefix + "_int64s");
    return Tensor::from<std::int64_t>(values, {static_cast<std::int64_t>(values.size())});
  }
  if (context.has_attribute(prefix + "_floats")) {
    const auto values = context.reals(prefix + "_floats");
    const std::vector<float> narrow(values.begin(), values.end());
    return Tensor::from<float>(narrow, {static_cast<std::int64_t>(narrow.size())});
  }
  const auto& values = context.get<std::vector<std::string>>(prefix + "_strings", "strings");
  return Tensor::from<std::string>(values, {static_cast<std::int64_t>(values.size())});
}

Tensor default_label(const RuleContext& context, DType type) {
  if (context.has_attribute("default_tensor")) return context.get<Tensor>("default_tensor", "a tensor");
  if (type == DType::string) return Tensor::scalar(context.string("default_string", "_Unused"));
  Tensor label = Tensor::allocate(type, {});
  copy_tensor(is_integer(type) ? Tensor::scalar(context.integer("default_int64", -1))
                               : Tensor::scalar(context.real("default_float", -0.0)),
              label);
  return label;
}

/// One more than the place of the last key that equals each element, 0 where none does.
Value* places_of(RuleContext& context, Value* x, Value* keys, std::int64_t count) {
  Value* column = context.emit("unsqueeze", {x, context.ints({-1})});
  Value* same = context.emit("equal", {column, keys});
  if (is_float(x->type.dtype())) {
    Value* both_nan = context.emit("and", {context.emit("is_nan", {column}), context.emit("is_nan", {keys})});
    same = context.emit("or", {same, both_nan});
  }
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 1; i <= count; ++i) numbers.push_back(i);
  AttributeMap keep;
  keep.set("keepdims", std::int64_t{0});
  Value* found = context.emit("where", {same, context.ints(numbers), context.scalar(DType::i64, 0)});
  return context.emit("reduce_max", {found, context.ints({-1})}, keep);
}

void label_encoder(RuleContext& context) {
  check(context.version >= 2, ErrorCode::unsupported, "LabelEncoder of version 1");
  const Tensor keys = list_of(context, "keys"), values = list_of(context, "values");
  check(keys.rank() == 1 && keys.shape() == values.shape() && keys.elements() > 0, ErrorCode::bad_data,
        "keys {} and values {}, expected equally long lists", keys.shape().to_string(),
        values.shape().to_string());
  Value* places = places_of(context, context.required(0), context.tensor(keys), keys.elements());
  Value* label =
      context.emit("reshape", {context.tensor(default_label(context, values.dtype())), context.ints({1})});
  AttributeMap first;
  first.set("axis", std::int64_t{0});
  Value* labels = context.emit("concat", {label, context.tensor(values)}, first);
  context.set_output(0, context.emit("gather", {labels, places}, first));
}

} // namespace

void add_ml_rules(Rules& rules) {
  rules["ai.onnx.ml.ArrayFeatureExtractor"] = array_feature_extractor;
  rules["ai.onnx.ml.Binarizer"] = binarizer;
  rules["ai.onnx.ml.LabelEncoder"] = label_encoder;
  rules["ai.onnx.ml.TreeEnsemble"] = [](RuleContext& context) { direct_as(context, "ml.tree_ensemble"); };
}

} // namespace lanner::onnx
