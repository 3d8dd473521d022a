#pragma once
// The threshold of a tensor: the magnitude that the largest stored number stands for.

#include <vector>

#include <lanner/calibration.h>

#include "calibration/histogram.h"

namespace lanner {

/// Steps between 0 and the threshold: of i8 (values with negatives), of u8 (values without).
constexpr int steps_of(bool has_negative) {
  return has_negative ? 127 : 255;
}

/// `magnitude`, within what a threshold may be, so that a scale in f32 and its inverse are normal numbers and
/// the threshold's own value is finite; 1 for 0, the magnitude of a tensor of zeros.
double usable_threshold(double magnitude);

/// The threshold that a calibrator chooses; always finite and above 0, and 1 for a histogram without values
/// other than 0.
///
/// - min_max: the largest magnitude.
/// - percentile: the upper edge of the bin in which `percentile` percent of the values are reached, zeros
///   included; the largest magnitude where these are all zeros.
/// - legacy: the same with 99.999 %, the quantile of TensorRT's samples.
/// - entropy: "8-bit Inference with TensorRT" (S. Migacz, GTC 2017). Of 2048 bins, the first i are a
///   reference, outliers added to its last bin; it is compared with the same bins without outliers, merged
///   into 128 levels (256 without negatives) and expanded over the bins that are not empty. The i of the
///   least Kullback-Leibler divergence wins, its threshold is (i + 0.5) bins. The first bin is left out, as
///   NVIDIA describes for its MLPerf submissions: noise around 0 is in it.
/// - entropy2: as entropy, but the last level stands for the outliers too, whose values are in the reference
///   where they were seen. Clipping costs what it hides of them, and nothing that few values decide: the
///   largest i whose divergence is within sampling error of the least.
///
/// Throws Error{invalid_argument} for `automatic`, which is a choice between candidates(), and for a
/// `percentile` that is not above 0 and at most 100.
double threshold_of(const TensorHistogram& histogram, Calibrator calibrator, double percentile);

/// The threshold of the least squared error of rounding and clipping together.
double least_error_threshold(const TensorHistogram& histogram);

struct ThresholdCandidate {
  double threshold = 0;
  Calibrator calibrator = Calibrator::min_max; ///< Which gave it; automatic: least_error_threshold().
  bool operator==(const ThresholdCandidate&) const = default;
};

/// The thresholds of all calibrators, min_max first, and that of the least error, without those that are
/// within 1 % of an earlier one.
std::vector<ThresholdCandidate> candidates(const TensorHistogram& histogram, double percentile);

} // namespace lanner
