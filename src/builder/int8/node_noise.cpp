#include "builder/int8/node_noise.h"

#include <algorithm>
#include <cmath>

namespace lanner {

void ChannelMeans::add(const Tensor& means, double values) {
  const auto given = means.as<float>();
  sums_.resize(given.size());
  for (std::size_t i = 0; i < given.size(); ++i) sums_[i] += given[i] * values;
  values_ += values;
}

std::vector<double> ChannelMeans::means() const {
  std::vector<double> result = sums_;
  for (double& mean : result) mean /= std::max(values_, 1.);
  return result;
}

void NodeNoise::add(const Tensor& reference, const Tensor& result, std::size_t channel_axis) {
  const auto expected = reference.as<float>(), got = result.as<float>();
  noise_.add(expected, got);
  const Shape& shape = reference.shape();
  const auto channels = static_cast<std::size_t>(shape[channel_axis]);
  if (expected.empty()) return;
  std::size_t inner = 1;
  for (std::size_t i = channel_axis + 1; i < shape.rank(); ++i) inner *= static_cast<std::size_t>(shape[i]);
  errors_.resize(channels);
  for (std::size_t at = 0; at < expected.size(); at += inner) {
    double error = 0;
    for (std::size_t i = at; i < at + inner; ++i) error += static_cast<double>(expected[i]) - got[i];
    errors_[at / inner % channels] += error;
  }
  values_ += static_cast<double>(expected.size() / channels);
}

NodeExactness NodeNoise::exactness(const passes::WeightSums& weights) const {
  NodeExactness result;
  result.plain = result.corrected = noise_.decibels();
  const std::vector<double> exact = exact_.means(), rounded = rounded_.means();
  if (exact.empty() || !std::isfinite(result.plain)) return result;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    result.means.rounded.push_back(static_cast<float>(rounded[i]));
    result.means.lost.push_back(static_cast<float>(exact[i] - rounded[i]));
  }
  // The sum of (e - c)^2 is that of e^2 less 2 c e - c^2.
  const std::vector<double> correction = weights.correction(result.means);
  double less = 0;
  for (std::size_t c = 0; c < correction.size(); ++c)
    less += correction[c] * (2 * errors_[c] - values_ * correction[c]);
  if (!std::isfinite(less))
    result.means = {};
  else
    result.corrected = noise_.with_less_noise(less).decibels();
  return result;
}

} // namespace lanner
