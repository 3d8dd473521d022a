// Operators of classical machine learning (domain ai.onnx.ml) that are expressed by others.

#include <algorithm>
#include <cmath>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/onnx/ml_scores.h"
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

/// The list of a LabelEncoder's attribute `keys_...` or `values_...`.
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

/// One more than the index of the last key that equals each element, 0 where none does.
Value* key_indices(RuleContext& context, Value* x, Value* keys, std::int64_t count) {
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
  Value* places = key_indices(context, context.required(0), context.tensor(keys), keys.elements());
  Value* label =
      context.emit("reshape", {context.tensor(default_label(context, values.dtype())), context.ints({1})});
  AttributeMap first;
  first.set("axis", std::int64_t{0});
  Value* labels = context.emit("concat", {label, context.tensor(values)}, first);
  context.set_output(0, context.emit("gather", {labels, places}, first));
}

Value* row_of(RuleContext& context, const std::vector<double>& values) {
  const std::vector<float> narrow(values.begin(), values.end());
  return context.tensor(Tensor::from<float>(narrow, {static_cast<std::int64_t>(narrow.size())}));
}

void scaler(RuleContext& context) {
  Value* x = in_type(context, context.required(0), DType::f32);
  if (const auto offsets = context.reals("offset"); !offsets.empty())
    x = context.emit("sub", {x, row_of(context, offsets)});
  if (const auto scales = context.reals("scale"); !scales.empty())
    x = context.emit("mul", {x, row_of(context, scales)});
  context.set_output(0, x);
}

/// Rows divided by their maximum, sum of magnitudes or length; rows whose divisor is 0 stay.
void normalizer(RuleContext& context) {
  const std::string norm = context.string("norm", "MAX");
  check(norm == "MAX" || norm == "L1" || norm == "L2", ErrorCode::bad_data,
        "attribute norm is '{}', expected MAX, L1 or L2", norm);
  Value* x = in_type(context, context.required(0), DType::f32);
  AttributeMap keep;
  keep.set("keepdims", std::int64_t{1});
  const char* reduction = norm == "MAX" ? "reduce_max" : norm == "L1" ? "reduce_l1" : "reduce_l2";
  Value* size = context.emit(reduction, {x, context.ints({-1})}, keep);
  Value* none = context.emit("equal", {size, context.scalar(DType::f32, 0)});
  context.set_output(
      0, context.emit("div", {x, context.emit("where", {none, context.scalar(DType::f32, 1), size})}));
}

void imputer(RuleContext& context) {
  Value* x = context.required(0);
  const bool reals = is_float(x->type.dtype());
  if (!reals) {
    Value* replaced = context.tensor(Tensor::scalar(context.integer("replaced_value_int64", 0)));
    Value* gone = context.emit("equal", {x, replaced});
    return context.set_output(
        0, context.emit("where", {gone, context.ints(context.integers("imputed_value_int64s")), x}));
  }
  const double replaced = context.real("replaced_value_float", 0);
  Value* gone = std::isnan(replaced) ? context.emit("is_nan", {x})
                                     : context.emit("equal", {x, context.scalar(x->type.dtype(), replaced)});
  Value* values = in_type(context, row_of(context, context.reals("imputed_value_floats")), x->type.dtype());
  context.set_output(0, context.emit("where", {gone, values, x}));
}

/// x [n, features] by coefficients [rows, features], and intercepts.
Value* linear(RuleContext& context, std::int64_t rows) {
  const auto coefficients = context.reals("coefficients");
  const auto count = static_cast<std::int64_t>(coefficients.size());
  check(rows > 0 && count > 0 && count % rows == 0, ErrorCode::bad_data,
        "attribute coefficients has {} numbers, expected a multiple of {}", count, rows);
  const std::int64_t features = count / rows;
  std::vector<float> turned(coefficients.size());
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t at = 0; at < features; ++at)
      turned[static_cast<std::size_t>(at * rows + row)] =
          static_cast<float>(coefficients[static_cast<std::size_t>(row * features + at)]);
  Value* x = in_type(context, context.required(0), DType::f32);
  if (x->type.ranked() && x->type.rank() == 1) x = context.emit("unsqueeze", {x, context.ints({0})});
  Value* scores = context.emit("matmul", {x, context.tensor(Tensor::from<float>(turned, {features, rows}))});
  const auto intercepts = context.reals("intercepts");
  check(intercepts.empty() || std::ssize(intercepts) == rows, ErrorCode::bad_data,
        "attribute intercepts has {} numbers, expected {}", intercepts.size(), rows);
  return with_offsets(context, scores, intercepts);
}

void linear_regressor(RuleContext& context) {
  context.set_output(0, transformed(context, linear(context, context.integer("targets", 1))));
}

void linear_classifier(RuleContext& context) {
  const Labels labels = labels_of(context, "classlabels_ints");
  check(labels.count >= 2, ErrorCode::unsupported, "a classifier of {} class", labels.count);
  const auto intercepts = std::ssize(context.reals("intercepts"));
  check(intercepts == 0 || intercepts == labels.count, ErrorCode::unsupported,
        "attribute intercepts has {} numbers for {} classes, expected one for each", intercepts,
        labels.count);
  Value* scores = linear(context, labels.count);
  set_classes(context, labels, scores, scores);
}

void feature_vectorizer(RuleContext& context) {
  std::vector<Value*> parts;
  for (Value* part : context.all_inputs()) parts.push_back(in_type(context, part, DType::f32));
  AttributeMap columns;
  columns.set("axis", std::int64_t{1});
  context.set_output(0, context.emit("concat", parts, columns));
}

/// Unknown categories are all zeros.
void one_hot_encoder(RuleContext& context) {
  check(context.integer("zeros", 1) != 0, ErrorCode::unsupported,
        "attribute zeros is 0 (an error for unknown categories), which is not supported");
  Value* x = context.required(0);
  const bool words = x->type.dtype() == DType::string;
  Value* list = nullptr;
  if (words) {
    const auto& names = context.get<std::vector<std::string>>("cats_strings", "strings");
    list = context.tensor(Tensor::from<std::string>(names, {static_cast<std::int64_t>(names.size())}));
  } else {
    x = in_type(context, x, DType::i64);
    list = context.ints(context.integers("cats_int64s"));
  }
  Value* same = context.emit("equal", {context.emit("unsqueeze", {x, context.ints({-1})}), list});
  context.set_output(0, in_type(context, same, DType::f32));
}

void zip_map(RuleContext& context) {
  fail(ErrorCode::unsupported,
       "maps are not supported; export without it (skl2onnx: options={{'zipmap': False}}), or take its input "
       "as "
       "an output (outputs '{}', with the other outputs)",
       context.node.inputs.empty() ? "" : context.node.inputs[0]);
}

} // namespace

void add_ml_rules(Rules& rules) {
  add_ml_tree_rules(rules);
  rules["ai.onnx.ml.FeatureVectorizer"] = feature_vectorizer;
  rules["ai.onnx.ml.Imputer"] = imputer;
  rules["ai.onnx.ml.LinearClassifier"] = linear_classifier;
  rules["ai.onnx.ml.LinearRegressor"] = linear_regressor;
  rules["ai.onnx.ml.Normalizer"] = normalizer;
  rules["ai.onnx.ml.OneHotEncoder"] = one_hot_encoder;
  rules["ai.onnx.ml.Scaler"] = scaler;
  rules["ai.onnx.ml.ZipMap"] = zip_map;
  rules["ai.onnx.ml.ArrayFeatureExtractor"] = array_feature_extractor;
  rules["ai.onnx.ml.Binarizer"] = binarizer;
  rules["ai.onnx.ml.LabelEncoder"] = label_encoder;
  rules["ai.onnx.ml.TreeEnsemble"] = [](RuleContext& context) { direct_as(context, "ml.tree_ensemble"); };
}

} // namespace lanner::onnx
