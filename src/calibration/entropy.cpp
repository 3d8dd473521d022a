#include "calibration/entropy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace lanner {
namespace {

constexpr std::size_t merged = TensorHistogram::bins / entropy_bins;
static_assert(TensorHistogram::bins % entropy_bins == 0);
constexpr double infinite = std::numeric_limits<double>::infinity();

double times_log(double x) {
  return x > 0 ? x * std::log(x) : 0;
}

/// Sums over the first bins: [i] is that of the bins before i. The first bin is left out.
struct Sums {
  std::vector<double> counts, times_logs;
  std::vector<std::uint32_t> filled; ///< Bins that are not empty.

  explicit Sums(const TensorHistogram& histogram)
      : counts(entropy_bins + 1), times_logs(entropy_bins + 1), filled(entropy_bins + 1) {
    for (std::size_t bin = 0; bin < entropy_bins; ++bin) {
      std::uint64_t found = 0;
      for (std::size_t i = 0; i < merged; ++i) found += histogram.counts()[bin * merged + i];
      const double count = bin == 0 ? 0 : static_cast<double>(found);
      counts[bin + 1] = counts[bin] + count;
      times_logs[bin + 1] = times_logs[bin] + times_log(count);
      filled[bin + 1] = filled[bin] + (count > 0 ? 1 : 0);
    }
  }
  double all() const { return counts.back(); }
};

/// Magnitudes that are told apart: 0 to 127, without negatives 0 to 255.
std::size_t levels_of(const TensorHistogram& histogram) {
  return histogram.range().has_negative() ? 128 : 256;
}

/// The first of the `used` bins that level `level` of `levels` stands for.
std::size_t first_bin(std::size_t level, std::size_t levels, std::size_t used) {
  return (level * used + levels - 1) / levels;
}

/// Divergence of the first `used` bins, outliers added to the last one, from the same without outliers,
/// merged into levels and expanded.
double clipped_divergence(const Sums& sums, std::size_t levels, std::size_t used) {
  const double inside = sums.counts[used], outliers = sums.all() - inside;
  if (inside == 0) return infinite;
  const double last = inside - sums.counts[used - 1];
  double cross = 0;
  for (std::size_t level = 0; level < levels; ++level) {
    const std::size_t first = first_bin(level, levels, used), end = first_bin(level + 1, levels, used);
    const double count = sums.counts[end] - sums.counts[first];
    const bool is_last = level + 1 == levels;
    const double reference = count + (is_last ? outliers : 0);
    if (reference == 0) continue;
    if (count == 0) return infinite;
    const std::uint32_t filled =
        sums.filled[end] - sums.filled[first] + (is_last && last == 0 && outliers > 0 ? 1 : 0);
    cross += reference * std::log(count / filled);
  }
  const double own = sums.times_logs[used - 1] + times_log(last + outliers);
  return (own - cross) / sums.all() + std::log(inside / sums.all());
}

/// Divergence of all bins from levels of which the last one has no upper end.
double open_divergence(const Sums& sums, std::size_t levels, std::size_t used) {
  double cross = 0;
  for (std::size_t level = 0; level < levels; ++level) {
    const std::size_t first = first_bin(level, levels, used);
    const std::size_t end = level + 1 == levels ? entropy_bins : first_bin(level + 1, levels, used);
    const double count = sums.counts[end] - sums.counts[first];
    if (count > 0) cross += count * std::log(count / (sums.filled[end] - sums.filled[first]));
  }
  return (sums.times_logs.back() - cross) / sums.all();
}

/// The most bins whose divergence is at most `margin` above the least: where the data show no difference,
/// nothing is clipped.
template<typename Divergence>
double most_bins(const TensorHistogram& histogram, double margin, Divergence divergence_with) {
  const std::size_t levels = levels_of(histogram);
  std::vector<double> divergences;
  for (std::size_t used = levels; used <= entropy_bins; ++used)
    divergences.push_back(divergence_with(levels, used));
  const double bound = *std::ranges::min_element(divergences) + margin;
  std::size_t used = entropy_bins;
  while (divergences[used - levels] > bound) --used;
  return static_cast<double>(used);
}

} // namespace

double entropy_threshold(const TensorHistogram& histogram) {
  const Sums sums(histogram);
  if (sums.all() == 0) return histogram.largest();
  constexpr double rounding = 1e-9; // of equal divergences
  const double used = most_bins(histogram, rounding, [&](std::size_t levels, std::size_t bins) {
    return clipped_divergence(sums, levels, bins);
  });
  return std::min((used + 0.5) * (histogram.largest() / entropy_bins), histogram.largest());
}

double entropy2_threshold(const TensorHistogram& histogram) {
  const Sums sums(histogram);
  if (sums.all() == 0) return histogram.largest();
  // Of n values in b bins, 2 n times the divergence from their own distribution has about the chi-squared
  // distribution with b degrees of freedom, whose standard deviation is sqrt(2 b). Twice that is allowed.
  const double error = 2 * std::sqrt(2. * sums.filled.back()) / (2 * sums.all());
  return most_bins(
             histogram, error,
             [&](std::size_t levels, std::size_t bins) { return open_divergence(sums, levels, bins); }) *
         (histogram.largest() / entropy_bins);
}

} // namespace lanner
