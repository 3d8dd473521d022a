#include "calibration/thresholds.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "calibration/distributions.h"
#include "calibration/entropy.h"
#include "expect_error.h"

namespace lanner {
namespace {

using test::histogram_of;

constexpr std::array calibrators{Calibrator::entropy, Calibrator::entropy2, Calibrator::min_max,
                                 Calibrator::percentile, Calibrator::legacy};
constexpr std::size_t count = 200'000;

std::vector<float> named_values(const std::string& name) {
  if (name == "gaussian") return test::values_of(count, test::gaussian);
  if (name == "laplace") return test::values_of(count, test::laplace);
  if (name == "half_gaussian")
    return test::values_of(count, [](double a, double b) { return std::max(0., test::gaussian(a, b)); });
  if (name == "exponential")
    return test::values_of(count, [](double a, double b) { return std::abs(test::laplace(a, b)); });
  if (name == "gaussian_outlier") {
    std::vector<float> values = test::values_of(count, test::gaussian);
    values.push_back(20);
    return values;
  }
  std::vector<float> values(count); // uniform
  test::Uniform uniform;
  for (float& value : values) value = static_cast<float>(2 * uniform() - 1);
  return values;
}

/// Each line as tests/calibration/expected_thresholds.py prints it.
struct Expected {
  const char* name;
  double entropy, entropy2, min_max, percentile, legacy, least_error;
};
constexpr Expected expected[] = {
    {"gaussian", 4.3371, 4.6639, 4.6639, 3.9622, 4.3854, 3.9643},
    {"laplace", 11.2141, 11.0764, 12.5329, 9.3775, 11.3397, 9.9010},
    {"uniform", 1.0000, 1.0000, 1.0000, 0.9999, 1.0000, 0.9950},
    {"gaussian_outlier", 4.3311, 5.8203, 20.0000, 3.9643, 4.5650, 9.9500},
    {"half_gaussian", 3.9636, 4.6388, 4.6639, 3.6769, 4.2453, 4.2091},
    {"exponential", 11.3549, 12.1412, 12.5329, 9.3775, 11.3397, 11.1229},
};

class Distribution : public testing::TestWithParam<Expected> {};

TEST_P(Distribution, ThresholdsAreThoseOfTheDefinitions) {
  const Expected& wanted = GetParam();
  const TensorHistogram histogram = histogram_of(named_values(wanted.name));
  const double bin = histogram.bin_width(), digits = 1e-4;
  const auto threshold = [&](Calibrator calibrator) { return threshold_of(histogram, calibrator, 99.99); };
  EXPECT_NEAR(threshold(Calibrator::entropy), wanted.entropy, digits);
  EXPECT_NEAR(threshold(Calibrator::entropy2), wanted.entropy2, digits);
  EXPECT_NEAR(threshold(Calibrator::min_max), wanted.min_max, digits);
  EXPECT_NEAR(threshold(Calibrator::percentile), wanted.percentile, bin + digits);
  EXPECT_NEAR(threshold(Calibrator::legacy), wanted.legacy, bin + digits);
  EXPECT_NEAR(least_error_threshold(histogram), wanted.least_error, 0.02 * wanted.least_error);
}

INSTANTIATE_TEST_SUITE_P(Thresholds, Distribution, testing::ValuesIn(expected),
                         [](const auto& tested) { return std::string(tested.param.name); });

/// Mean squared error of `values` rounded to i8 with a threshold.
double error_with(const std::vector<float>& values, double threshold) {
  const double step = threshold / 127;
  double sum = 0;
  for (const float value : values) {
    const double stored = std::clamp(std::round(value / step), -127., 127.) * step;
    sum += (value - stored) * (value - stored);
  }
  return sum / static_cast<double>(values.size());
}

TEST(Thresholds, OneOutlierDoesNotDoubleTheRange) {
  std::vector<float> values = test::values_of(count, test::gaussian);
  const TensorHistogram without = histogram_of(values);
  for (const float outlier : {10.f, 30.f, 60.f}) {
    values.push_back(outlier);
    const TensorHistogram with = histogram_of(values);
    values.pop_back();
    for (const Calibrator calibrator : {Calibrator::entropy, Calibrator::entropy2, Calibrator::percentile})
      EXPECT_LT(threshold_of(with, calibrator, 99.99), 2 * threshold_of(without, calibrator, 99.99))
          << outlier << " " << calibrator_name(calibrator);
    EXPECT_EQ(threshold_of(with, Calibrator::min_max, 99.99), outlier);
  }
}

TEST(Thresholds, LeastErrorIsLeastOfTheValuesThemselves) {
  for (const char* name : {"gaussian", "laplace", "uniform", "gaussian_outlier"}) {
    const std::vector<float> values = named_values(name);
    const TensorHistogram histogram = histogram_of(values);
    const double least = error_with(values, least_error_threshold(histogram));
    for (const ThresholdCandidate& other : candidates(histogram, 99.99))
      EXPECT_LE(least, 1.01 * error_with(values, other.threshold)) << name << " " << other.threshold;
  }
}

TEST(Thresholds, LeastErrorIsNearPublishedOptimaOfLargeSamples) {
  // Banner et al., "Post training 4-bit quantization of convolutional networks" (NeurIPS 2019): with 8 bits,
  // a Laplace distribution of scale 1 is clipped at 9.89.
  const TensorHistogram histogram = histogram_of(test::values_of(1'000'000, test::laplace));
  EXPECT_NEAR(least_error_threshold(histogram), 9.89, 0.3);
}

TEST(Thresholds, OfFewValuesDoNotClipTheirBulk) {
  for (const std::size_t few : {1, 2, 10, 300, 3000}) {
    const std::vector<float> values = test::values_of(few, test::gaussian);
    const TensorHistogram histogram = histogram_of(values);
    const auto bulk = static_cast<std::size_t>(0.99 * static_cast<double>(few));
    std::vector<float> magnitudes;
    for (const float value : values) magnitudes.push_back(std::abs(value));
    std::ranges::sort(magnitudes);
    for (const ThresholdCandidate& found : candidates(histogram, 99.99))
      EXPECT_GE(found.threshold, magnitudes[std::min(bulk, few - 1)] * 0.99)
          << few << " " << calibrator_name(found.calibrator);
  }
}

TEST(Thresholds, DoNotDependOnHowManyValuesAreZero) {
  std::vector<float> values = test::values_of(50'000, test::gaussian);
  const TensorHistogram dense = histogram_of(values);
  values.resize(500'000);
  const TensorHistogram sparse = histogram_of(values);
  for (const Calibrator calibrator : {Calibrator::entropy, Calibrator::entropy2, Calibrator::min_max})
    EXPECT_EQ(threshold_of(sparse, calibrator, 99.99), threshold_of(dense, calibrator, 99.99));
  EXPECT_EQ(least_error_threshold(sparse), least_error_threshold(dense));
}

TEST(Thresholds, AreFiniteAndAboveZeroForEveryKindOfTensor) {
  const float nan_value = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> mostly_zero(100'000);
  mostly_zero[5] = 0.25f;
  const std::vector<std::vector<float>> tensors = {{},
                                                   {0.f},
                                                   std::vector<float>(1000),
                                                   {-0.f},
                                                   {nan_value},
                                                   {3.f},
                                                   {-3.f},
                                                   std::vector<float>(1000, -2.f),
                                                   {FLT_TRUE_MIN},
                                                   {FLT_TRUE_MIN, -3 * FLT_TRUE_MIN},
                                                   {FLT_MIN},
                                                   {FLT_MAX},
                                                   {-FLT_MAX, FLT_MAX, 1.f},
                                                   {FLT_TRUE_MIN, FLT_MAX},
                                                   mostly_zero};
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorHistogram histogram = histogram_of(tensors[i]);
    std::vector<double> thresholds{least_error_threshold(histogram)};
    for (const Calibrator calibrator : calibrators)
      thresholds.push_back(threshold_of(histogram, calibrator, 99.99));
    for (const double threshold : thresholds) {
      EXPECT_TRUE(std::isfinite(threshold)) << i;
      const auto scale = static_cast<float>(threshold / steps_of(histogram.range().has_negative()));
      EXPECT_TRUE(std::isnormal(scale)) << i << ": " << threshold;
      EXPECT_TRUE(std::isfinite(1 / scale)) << i << ": " << threshold;
      EXPECT_TRUE(std::isfinite(scale * 127)) << i << ": " << threshold;
      EXPECT_TRUE(histogram.largest() > 0 || threshold == 1) << i << ": " << threshold;
    }
    EXPECT_FALSE(candidates(histogram, 99.99).empty());
  }
}

TEST(Thresholds, OfAConstantAreTheConstant) {
  for (const std::vector<float>& values : {std::vector<float>(1000, 2.5f), std::vector<float>(1, -2.5f)}) {
    const TensorHistogram histogram = histogram_of(values);
    for (const Calibrator calibrator : calibrators)
      EXPECT_EQ(threshold_of(histogram, calibrator, 99.99), 2.5) << calibrator_name(calibrator);
    EXPECT_EQ(candidates(histogram, 99.99), (std::vector<ThresholdCandidate>{{2.5, Calibrator::min_max}}));
  }
}

TEST(Thresholds, CandidatesAreDistinctAndBeginWithTheLargestMagnitude) {
  const auto found = candidates(histogram_of(named_values("gaussian_outlier")), 99.99);
  ASSERT_GE(found.size(), 4u);
  EXPECT_EQ(found.front(), (ThresholdCandidate{20, Calibrator::min_max}));
  EXPECT_EQ(found.back().calibrator, Calibrator::automatic);
  for (std::size_t a = 0; a < found.size(); ++a)
    for (std::size_t b = a + 1; b < found.size(); ++b)
      EXPECT_GT(std::abs(found[a].threshold - found[b].threshold), 0.01 * found[a].threshold);
}

TEST(Thresholds, OfUnsignedTensorsHaveTwiceTheLevels) {
  // The same magnitudes: with 255 steps clipping pays later than with 127.
  const std::vector<float> positive = named_values("exponential"), both = named_values("laplace");
  EXPECT_GT(least_error_threshold(histogram_of(positive)), 1.05 * least_error_threshold(histogram_of(both)));
}

TEST(Thresholds, RefusePercentilesThatAreNone) {
  const TensorHistogram histogram = histogram_of(std::vector{1.f, 2.f});
  for (const double percentile : {0., -1., 100.5, std::numeric_limits<double>::quiet_NaN()})
    LANNER_EXPECT_ERROR(threshold_of(histogram, Calibrator::percentile, percentile),
                        ErrorCode::invalid_argument, "above 0 and at most 100");
  EXPECT_EQ(threshold_of(histogram, Calibrator::percentile, 100), 2);
  EXPECT_NEAR(threshold_of(histogram, Calibrator::percentile, 50), 1, 2 * histogram.bin_width());
  LANNER_EXPECT_ERROR(threshold_of(histogram, Calibrator::automatic, 99.99), ErrorCode::invalid_argument,
                      "chooses among");
}

} // namespace
} // namespace lanner
