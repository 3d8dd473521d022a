#pragma once
// Thresholds by the Kullback-Leibler divergence between a histogram and its quantised form.

#include "calibration/histogram.h"

namespace lanner {

/// Bins of the histogram in which divergences are computed, as published: fewer bins than TensorHistogram
/// has, as the noise of few values in many bins looks like divergence.
inline constexpr std::size_t entropy_bins = 2048;

/// Thresholds of Calibrator::entropy and entropy2 (calibration/thresholds.h); the largest magnitude for a
/// histogram without values other than 0 in its first bin.
double entropy_threshold(const TensorHistogram& histogram);
double entropy2_threshold(const TensorHistogram& histogram);

} // namespace lanner
