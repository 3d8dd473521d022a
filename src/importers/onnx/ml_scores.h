#pragma once
// What classifiers and regressors of ai.onnx.ml share: post_transform, labels, two classes from one score.

#include <cstdint>
#include <vector>

#include "importers/builder.h"

namespace lanner::onnx {

Value* in_type(RuleContext& context, Value* value, DType type);
/// f64 unchanged, all other types as f32.
Value* as_reals(RuleContext& context, Value* value);
/// Scores [n, m] with a number added to each column; unchanged where the list is empty.
Value* with_offsets(RuleContext& context, Value* scores, const std::vector<double>& offsets);
/// Applies the attribute post_transform.
Value* transformed(RuleContext& context, Value* scores);

/// Class labels: `list`, strings or i64 [count].
struct Labels {
  std::int64_t count = 0;
  Value* list = nullptr;
};

/// From classlabels_strings, or the integer attribute of the given name.
Labels labels_of(RuleContext& context, const char* integers);
/// Outputs 0 and 1: the label of the highest of `candidates`, and the scores [n, count] after post_transform.
void set_classes(RuleContext& context, const Labels& labels, Value* scores, Value* candidates);
/// The same for two classes of which one is scored, [n, 1]: the probability of the second where weights are
/// positive, else a signed distance from the decision boundary.
void set_two_classes(RuleContext& context, const Labels& labels, Value* score, bool positive);

} // namespace lanner::onnx
