#pragma once
// How the values of a tensor are distributed over calibration data. The data are run twice: the first pass
// finds the range, the second counts values between edges that the range fixes. So neither the order nor the
// size of the batches changes a count.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lanner {

/// What the first pass finds. NaN and infinite values are counted and otherwise ignored.
struct ObservedRange {
  float least = 0, most = 0;    ///< Of the finite values; 0 without any.
  std::uint64_t count = 0;      ///< Finite values.
  std::uint64_t not_finite = 0; ///< NaN and infinite values.

  void add(std::span<const float> values);
  /// The range of other values of the same tensor.
  void add(const ObservedRange& other);
  /// Rounds both ends to 11 bits behind the first, away from 0. Kernels for another batch size may add in
  /// another order, and so give numbers that differ in their last bits: their ranges are the same then.
  void widen() noexcept;
  /// The largest magnitude; 0 without values.
  float largest() const noexcept { return -least > most ? -least : most; }
  bool has_negative() const noexcept { return least < 0; }
  bool operator==(const ObservedRange&) const = default;
};

/// What the second pass finds: how many values have a magnitude in each of `bins` bins of equal width between
/// 0 and the largest magnitude. Zeros are counted apart: every scale represents them exactly. One thread at a
/// time; parts that were counted by several threads are added.
class TensorHistogram {
public:
  static constexpr std::size_t bins = 8192;

  explicit TensorHistogram(const ObservedRange& range);
  void add(std::span<const float> values);
  /// Counts of other values of the same tensor. Throws Error{invalid_argument} where its range is another.
  void add(const TensorHistogram& part);

  const ObservedRange& range() const noexcept { return range_; }
  /// Of finite values other than 0, by magnitude.
  std::span<const std::uint64_t> counts() const noexcept { return counts_; }
  /// Finite values, zeros included.
  std::uint64_t values() const noexcept { return values_; }
  std::uint64_t zeros() const noexcept { return zeros_; }
  std::uint64_t not_finite() const noexcept { return not_finite_; }
  /// Values larger than the range, which the last bin counts: the second pass had other data.
  std::uint64_t beyond() const noexcept { return beyond_; }
  double largest() const noexcept { return range_.largest(); }
  double bin_width() const noexcept { return largest() / bins; }
  bool operator==(const TensorHistogram&) const = default;

private:
  void add_block(std::span<const float> values, std::span<std::uint32_t> found);
  void take(std::span<const std::uint32_t> table);

  ObservedRange range_;
  std::vector<std::uint64_t> counts_;
  std::uint64_t values_ = 0, zeros_ = 0, not_finite_ = 0, beyond_ = 0;
};

} // namespace lanner
