#include "calibration/signal_noise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace lanner {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr std::size_t lanes = 4;

/// Neighbouring values are summed apart, as one sum would wait for each addition. Their order is fixed, so
/// that the same values give the same sums on every machine.
struct LaneSums {
  std::array<double, lanes> signal{}, noise{}, quantised{}, product{};
  std::array<std::uint64_t, lanes> pairs{}, broken{};

  void add(std::size_t lane, float reference, float value) {
    const bool finite = std::isfinite(reference) && std::isfinite(value);
    const bool same = reference == value || (std::isnan(reference) && std::isnan(value));
    const double a = finite ? reference : 0, b = finite ? value : 0;
    signal[lane] += a * a;
    quantised[lane] += b * b;
    product[lane] += a * b;
    noise[lane] += (a - b) * (a - b);
    pairs[lane] += 1;
    broken[lane] += !finite && !same ? 1 : 0;
  }
};

template<typename T>
T sum_of(const std::array<T, lanes>& values) {
  return (values[0] + values[1]) + (values[2] + values[3]);
}

template<typename Measure>
double lower_median(std::span<const SignalNoise> inputs, double without, Measure measure) {
  if (inputs.empty()) return without;
  std::vector<double> values;
  for (const SignalNoise& input : inputs) values.push_back(measure(input));
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

} // namespace

void SignalNoise::add(std::span<const float> reference, std::span<const float> quantised) {
  check(reference.size() == quantised.size(), ErrorCode::invalid_argument,
        "{} reference values and {} quantised ones: expected as many", reference.size(), quantised.size());
  LaneSums sums;
  std::size_t i = 0;
  for (; i + lanes <= reference.size(); i += lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane) sums.add(lane, reference[i + lane], quantised[i + lane]);
  for (; i < reference.size(); ++i) sums.add(i % lanes, reference[i], quantised[i]);
  signal_ += sum_of(sums.signal);
  noise_ += sum_of(sums.noise);
  quantised_ += sum_of(sums.quantised);
  product_ += sum_of(sums.product);
  count_ += sum_of(sums.pairs);
  broken_ += sum_of(sums.broken);
}

void SignalNoise::add(const SignalNoise& part) noexcept {
  signal_ += part.signal_;
  noise_ += part.noise_;
  quantised_ += part.quantised_;
  product_ += part.product_;
  count_ += part.count_;
  broken_ += part.broken_;
}

SignalNoise SignalNoise::with_less_noise(double less) const noexcept {
  SignalNoise made = *this;
  made.noise_ = std::max(noise_ - less, 0.);
  return made;
}

double SignalNoise::decibels() const {
  if (broken_ > 0) return -infinite;
  if (noise_ == 0) return infinite;
  return 10 * std::log10(signal_ / noise_);
}

double SignalNoise::cosine() const {
  if (broken_ > 0) return 0;
  if (signal_ == 0 && quantised_ == 0) return 1;
  if (signal_ == 0 || quantised_ == 0) return 0;
  return std::clamp(product_ / (std::sqrt(signal_) * std::sqrt(quantised_)), -1., 1.);
}

void CentredSignalNoise::add_input(std::span<const float> reference, std::span<const float> quantised) {
  check(reference.size() == quantised.size() && (count_ == 0 || reference.size() == width_),
        ErrorCode::invalid_argument,
        "input {}: {} reference values and {} quantised ones, expected {} of each", count_, reference.size(),
        quantised.size(), count_ == 0 ? reference.size() : width_);
  width_ = reference.size();
  ++count_;
  references_.insert(references_.end(), reference.begin(), reference.end());
  quantised_.insert(quantised_.end(), quantised.begin(), quantised.end());
}

std::vector<double> CentredSignalNoise::means() const {
  std::vector<double> sums(width_), finite(width_);
  for (std::size_t i = 0; i < references_.size(); ++i) {
    if (!std::isfinite(references_[i])) continue;
    sums[i % width_] += references_[i];
    finite[i % width_] += 1;
  }
  for (std::size_t i = 0; i < width_; ++i) sums[i] /= std::max(finite[i], 1.);
  return sums;
}

std::vector<SignalNoise> CentredSignalNoise::by_input() const {
  const std::vector<double> mean = means();
  std::vector<SignalNoise> found(count_);
  std::vector<float> reference(width_), quantised(width_);
  for (std::size_t input = 0; input < count_; ++input) {
    for (std::size_t i = 0; i < width_; ++i) {
      reference[i] = static_cast<float>(references_[input * width_ + i] - mean[i]);
      quantised[i] = static_cast<float>(quantised_[input * width_ + i] - mean[i]);
    }
    found[input].add(reference, quantised);
  }
  return found;
}

SignalNoise CentredSignalNoise::together() const {
  SignalNoise all;
  for (const SignalNoise& input : by_input()) all.add(input);
  return all;
}

double median_decibels(std::span<const SignalNoise> inputs) {
  return lower_median(inputs, infinite, [](const SignalNoise& input) { return input.decibels(); });
}

double median_cosine(std::span<const SignalNoise> inputs) {
  return lower_median(inputs, 1, [](const SignalNoise& input) { return input.cosine(); });
}

} // namespace lanner
