#pragma once
// How exact a candidate for INT8 is on FP32's inputs, with its bias as it is and corrected.

#include <span>
#include <vector>

#include <lanner/tensor.h>

#include "calibration/signal_noise.h"
#include "passes/int8/bias_correction.h"

namespace lanner {

/// Of one candidate with one threshold, over all data. Ratios in dB.
struct NodeExactness {
  double plain = 0, corrected = 0; ///< With the bias as it is, and corrected.
  passes::InputMeans means;        ///< Empty: there is no correction.

  /// A correction costs an addition where there was no bias, and the last bits of sums must not decide.
  static constexpr double least_gain = 0.01;
  bool gains() const { return corrected > plain + least_gain; }
  double snr() const { return gains() ? corrected : plain; }
};

/// Means by channel over all data, of batches of any sizes.
class ChannelMeans {
public:
  /// Means over `values` values of each channel.
  void add(const Tensor& means, double values);
  std::vector<double> means() const;

private:
  std::vector<double> sums_;
  double values_ = 0;
};

/// Adds up what one candidate loses with one threshold.
class NodeNoise {
public:
  /// `channel_axis`: of the results.
  void add(const Tensor& reference, const Tensor& result, std::size_t channel_axis);
  /// Means of a batch's values, exact and rounded.
  void add_means(const Tensor& exact, const Tensor& rounded, double values) {
    exact_.add(exact, values);
    rounded_.add(rounded, values);
  }
  NodeExactness exactness(const passes::WeightSums& weights) const;

private:
  SignalNoise noise_;
  std::vector<double> errors_; ///< By channel, FP32's results less the quantised ones.
  double values_ = 0;          ///< Of each channel.
  ChannelMeans exact_, rounded_;
};

} // namespace lanner
