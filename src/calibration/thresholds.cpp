#include "calibration/thresholds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "base/check.h"
#include "calibration/entropy.h"

namespace lanner {
namespace {

constexpr double legacy_percentile = 99.999;
/// Thresholds this close are one candidate: the errors of rounding differ as little.
constexpr double same_share = 0.01;
constexpr double least_threshold = 255. * std::numeric_limits<float>::min();
constexpr double most_threshold =
    3.4e38; ///< A little below the largest float: 127 rounded scales are finite.

double percentile_threshold(const TensorHistogram& histogram, double percentile) {
  check(percentile > 0 && percentile <= 100, ErrorCode::invalid_argument,
        "percentile {}: expected a number above 0 and at most 100", percentile);
  const double wanted = percentile / 100 * static_cast<double>(histogram.values());
  std::uint64_t reached = histogram.zeros();
  if (static_cast<double>(reached) >= wanted) return histogram.largest();
  for (std::size_t bin = 0; bin + 1 < TensorHistogram::bins; ++bin) {
    reached += histogram.counts()[bin];
    if (static_cast<double>(reached) >= wanted) return static_cast<double>(bin + 1) * histogram.bin_width();
  }
  return histogram.largest();
}

double threshold_within(const TensorHistogram& histogram, Calibrator calibrator, double percentile) {
  switch (calibrator) {
  case Calibrator::entropy:
    return entropy_threshold(histogram);
  case Calibrator::entropy2:
    return entropy2_threshold(histogram);
  case Calibrator::min_max:
    return histogram.largest();
  case Calibrator::percentile:
    return percentile_threshold(histogram, percentile);
  case Calibrator::legacy:
    return percentile_threshold(histogram, legacy_percentile);
  case Calibrator::automatic:
    break;
  }
  fail(ErrorCode::invalid_argument,
       "calibrator auto has no threshold of its own: it chooses among those of all");
}

/// Sum of squared errors, in bins, of rounding to `steps` steps up to `used` bins; each value counts as its
/// bin's middle.
double squared_error(std::span<const std::uint64_t> counts, double used, int steps) {
  const double step = used / steps;
  double sum = 0;
  for (std::size_t bin = 0; bin < counts.size(); ++bin) {
    if (counts[bin] == 0) continue;
    const double value = static_cast<double>(bin) + 0.5;
    const int stored = std::min(static_cast<int>(value / step + 0.5), steps);
    const double error = value - stored * step;
    sum += static_cast<double>(counts[bin]) * error * error;
  }
  return sum;
}

} // namespace

double usable_threshold(double magnitude) {
  return magnitude > 0 ? std::clamp(magnitude, least_threshold, most_threshold) : 1;
}

double threshold_of(const TensorHistogram& histogram, Calibrator calibrator, double percentile) {
  return usable_threshold(threshold_within(histogram, calibrator, percentile));
}

double least_error_threshold(const TensorHistogram& histogram) {
  constexpr double all = TensorHistogram::bins;
  const int steps = steps_of(histogram.range().has_negative());
  double best = all, least = squared_error(histogram.counts(), all, steps);
  const auto sweep = [&](double from, double to, int tries) {
    const double factor = std::pow(to / from, 1. / tries);
    double used = from;
    for (int i = 0; i <= tries; ++i, used *= factor) {
      const double error = used <= all ? squared_error(histogram.counts(), used, steps) : least;
      if (error < least) least = error, best = used;
    }
  };
  // Steps narrower than a bin say nothing, so a step is the least threshold. First in steps of 4 %, then of
  // 0.5 % around the best of these.
  sweep(all, steps, static_cast<int>(std::log(all / steps) / 0.04));
  sweep(std::min(all, best * 1.04), best / 1.04, 16);
  return usable_threshold(best / all * histogram.largest());
}

std::vector<ThresholdCandidate> candidates(const TensorHistogram& histogram, double percentile) {
  std::vector<ThresholdCandidate> found;
  const auto add = [&](double threshold, Calibrator calibrator) {
    const bool is_new = std::ranges::none_of(found, [&](const ThresholdCandidate& other) {
      return std::abs(other.threshold - threshold) <= same_share * other.threshold;
    });
    if (is_new) found.push_back({threshold, calibrator});
  };
  for (const Calibrator calibrator : {Calibrator::min_max, Calibrator::entropy, Calibrator::entropy2,
                                      Calibrator::percentile, Calibrator::legacy})
    add(threshold_of(histogram, calibrator, percentile), calibrator);
  add(least_error_threshold(histogram), Calibrator::automatic);
  return found;
}

} // namespace lanner
