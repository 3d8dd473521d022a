#pragma once
// How exact quantised values are: their signal-to-noise ratio against those of FP32.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lanner {

/// Sums over a tensor's values of all batches. One thread at a time; sums of parts are added.
///
/// Values that are not finite have no error to measure: a pair of the same (NaN and NaN too) counts as exact
/// and is otherwise left out, any other pair makes the ratio negative infinity.
class SignalNoise {
public:
  /// Adds values and what stands for them; throws Error{invalid_argument} where there are more of one.
  void add(std::span<const float> reference, std::span<const float> quantised);
  void add(const SignalNoise& part) noexcept;

  /// 10 log10 of the sum of the references' squares over the sum of the differences' squares. Infinity where
  /// all are equal, which no values at all are too; negative infinity where only zeros have errors.
  double decibels() const;
  /// Of the angle between the two as vectors, -1 to 1; 1 where both are zeros, 0 where one is.
  double cosine() const;
  std::uint64_t count() const noexcept { return count_; }
  /// As if the differences' squares added up to so much less.
  SignalNoise with_less_noise(double less) const noexcept;

private:
  double signal_ = 0, noise_ = 0; ///< Sums of squares.
  double quantised_ = 0;          ///< Sum of squares.
  double product_ = 0;            ///< Sum of products.
  std::uint64_t count_ = 0, broken_ = 0;
};

/// The same for an output of which each input gives one row, such as the logits of a classifier: on values
/// less the references' mean over the inputs, so that what all inputs have in common, which decides nothing,
/// is not taken for signal. Keeps all rows.
class CentredSignalNoise {
public:
  /// One input's values. Throws Error{invalid_argument} for a row of another length than the first.
  void add_input(std::span<const float> reference, std::span<const float> quantised);
  std::size_t inputs() const noexcept { return count_; }

  /// Of each input, in order.
  std::vector<SignalNoise> by_input() const;
  /// Of all inputs together.
  SignalNoise together() const;

private:
  std::vector<double> means() const; ///< Of the finite references.

  std::vector<float> references_, quantised_;
  std::size_t width_ = 0, count_ = 0;
};

/// The middle one of the inputs' ratios, between the middle two of an even number the lower; infinity without
/// inputs.
double median_decibels(std::span<const SignalNoise> inputs);
/// The same of their cosines; 1 without inputs.
double median_cosine(std::span<const SignalNoise> inputs);

} // namespace lanner
