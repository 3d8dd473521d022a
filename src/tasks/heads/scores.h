#pragma once
// Class scores in the formats of heads: rows with one number a class.

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/check.h"
#include "tasks/heads/head.h"

namespace lanner::tasks {

inline float sigmoid(float value) {
  return 1 / (1 + std::exp(-value));
}

/// Raw numbers as probabilities, by none or sigmoid.
class ScoreScale {
public:
  ScoreScale(Activation activation, float threshold)
      : sigmoid_(activation == Activation::sigmoid), threshold_(threshold), least_(threshold) {
    // Slightly below the exact bound, and never where the sigmoid is 1 in floats: passes() decides.
    if (sigmoid_)
      least_ = threshold <= 0   ? -std::numeric_limits<float>::infinity()
               : threshold >= 1 ? 16.f
                                : std::min(16.f, std::log(threshold / (1 - threshold)) - 1e-2f);
  }
  float least() const { return least_; } ///< Lower raw numbers do not pass.
  float operator()(float raw) const { return sigmoid_ ? sigmoid(raw) : raw; }
  bool passes(float score) const { return score >= threshold_; }

private:
  bool sigmoid_;
  float threshold_, least_;
};

/// Rows of `classes` numbers each.
struct ScoreRows {
  Values values;
  std::int64_t begin = 0, pitch = 0, rows = 0, classes = 0;
};

/// Which classes count.
struct ScoreRule {
  Activation activation = Activation::none;
  int background = -1, first_class = 0;
  bool every = false; ///< Every class that passes instead of the best.
  float threshold = 0;
};
/// From the task; `channels`: number of scored classes. Throws Error{invalid_argument} where labels differ in
/// number.
ScoreRule score_rule(const HeadRun& run, std::int64_t channels, bool every);

/// Calls `emit(row, label, score)` for the classes that pass. Throws Error{bad_data} for numbers that are not
/// finite.
template<typename Emit>
void for_each_class(const ScoreRows& rows, const ScoreRule& rule, Emit&& emit);

[[noreturn]] void fail_not_finite(std::int64_t row);

/// A class number stored among scores. Throws Error{bad_data} for an invalid one.
std::int32_t class_number(float value, std::int64_t row);

/// The largest number; `poison` sums all products with 0, so it is NaN where one is not finite.
struct RowBest {
  float most;
  float poison;
};
RowBest best_of_row(const float* values, std::int64_t count);

/// Probabilities of a row, written to `into`.
void softmax_row(const float* values, std::int64_t count, float most, float* into);

template<typename Emit>
void for_each_class(const ScoreRows& rows, const ScoreRule& rule, Emit&& emit) {
  const bool softmax = rule.activation == Activation::softmax;
  const ScoreScale scale(rule.activation, rule.threshold);
  const float log_threshold =
      rule.threshold > 0 ? std::log(rule.threshold) - 1e-2f : -std::numeric_limits<float>::infinity();
  std::vector<float> buffer(static_cast<std::size_t>(rows.classes)), shares(buffer.size());
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    const float* raw = rows.values.run(rows.begin + row * rows.pitch, rows.classes, buffer.data());
    const RowBest best = best_of_row(raw, rows.classes);
    if (!(best.poison == 0)) fail_not_finite(rows.values.number(row));
    if (softmax) {
      // If the background is the best class, the others are at most exp(their best - it).
      const bool none = rule.background >= 0 && rule.background < rows.classes;
      if (none && raw[rule.background] == best.most) {
        float second = -std::numeric_limits<float>::infinity();
        for (std::int64_t c = 0; c < rows.classes; ++c)
          if (c != rule.background) second = std::max(second, raw[c]);
        if (second - best.most < log_threshold) continue;
      }
      softmax_row(raw, rows.classes, best.most, shares.data());
      raw = shares.data();
    } else if (best.most < scale.least()) {
      continue;
    }
    std::int64_t chosen = -1;
    for (std::int64_t c = rule.first_class; c < rows.classes; ++c) {
      if (c == rule.background) continue;
      if (!rule.every) {
        if (chosen < 0 || raw[c] > raw[chosen]) chosen = c;
        continue;
      }
      const float score = softmax ? raw[c] : scale(raw[c]);
      if (scale.passes(score)) emit(row, static_cast<std::int32_t>(c - rule.first_class), score);
    }
    if (chosen < 0) continue;
    const float score = softmax ? raw[chosen] : scale(raw[chosen]);
    if (scale.passes(score)) emit(row, static_cast<std::int32_t>(chosen - rule.first_class), score);
  }
}

} // namespace lanner::tasks
