// How exact a node in INT8 is, with its bias as it is and corrected.

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "builder/int8/node_noise.h"

namespace lanner {
namespace {

Tensor reals(const std::vector<float>& values, const Shape& shape) {
  return Tensor::from<float>(values, shape);
}

Tensor bytes(const std::vector<std::int8_t>& values, const Shape& shape) {
  return Tensor::from<std::int8_t>(values, shape);
}

/// One channel of the weight 1.5, stored as 1, of values whose mean is `mean`: the correction is half of it.
passes::WeightSums weights() {
  return {reals({1.5}, {1, 1, 1, 1}), bytes({1}, {1, 1, 1, 1}), reals({1}, {1}), 0, 1};
}

/// Results `exact` and `rounded` of values with the mean `mean`.
NodeExactness measured(const std::vector<float>& exact, const std::vector<float>& rounded, float mean) {
  NodeNoise noise;
  const auto count = static_cast<std::int64_t>(exact.size());
  noise.add(reals(exact, {1, 1, 1, count}), reals(rounded, {1, 1, 1, count}), 1);
  noise.add_means(reals({mean}, {1}), reals({mean}, {1}), static_cast<double>(count));
  return noise.exactness(weights());
}

TEST(NodeNoise, FallsByWhatACorrectionTakesAway) {
  const NodeExactness found = measured({10, -10}, {8, -12}, 2); // errors of 2, the correction is 1
  EXPECT_NEAR(found.plain, 10 * std::log10(200. / 8), 1e-9);
  EXPECT_NEAR(found.corrected, 10 * std::log10(200. / 2), 1e-9);
  EXPECT_TRUE(found.gains());
  EXPECT_EQ(found.snr(), found.corrected);
}

TEST(NodeNoise, OfACorrectionThatHurtsIsThatWithoutIt) {
  // As where most of a window is padding: the mean error is 0.25, not 1.
  const NodeExactness found = measured({10, -10}, {9.75, -10.25}, 2);
  EXPECT_NEAR(found.corrected, 10 * std::log10(200. / (2 * 0.75 * 0.75)), 1e-6);
  EXPECT_LT(found.corrected, found.plain);
  EXPECT_FALSE(found.gains());
  EXPECT_EQ(found.snr(), found.plain);
}

TEST(NodeNoise, OfErrorsWithoutAMeanGainsNothing) {
  EXPECT_FALSE(measured({10, -10}, {9, -9}, 0).gains());
  EXPECT_FALSE(measured({10, -10}, {10, -10}, 2).gains()); // exact already
  NodeNoise without_means;
  without_means.add(reals({10, -10}, {2, 1}), reals({9, -11}, {2, 1}), 1);
  EXPECT_FALSE(without_means.exactness(weights()).gains());
}

TEST(NodeNoise, OfValuesThatAreNotFiniteHasNoCorrection) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const NodeExactness found = measured({nan, 10}, {nan, 9}, nan);
  EXPECT_TRUE(found.means.rounded.empty());
  EXPECT_FALSE(found.gains());
}

TEST(NodeNoise, IsThatOfAllBatchesWhateverTheirSizes) {
  NodeNoise whole, parts;
  whole.add(reals({1, 2, 3, 4, 5, 6}, {3, 2}), reals({1, 1, 3, 3, 5, 5}, {3, 2}), 1);
  whole.add_means(reals({3}, {1}), reals({2}, {1}), 3);
  parts.add(reals({5, 6}, {1, 2}), reals({5, 5}, {1, 2}), 1);
  parts.add_means(reals({5}, {1}), reals({4}, {1}), 1);
  parts.add(reals({1, 2, 3, 4}, {2, 2}), reals({1, 1, 3, 3}, {2, 2}), 1);
  parts.add_means(reals({2}, {1}), reals({1}, {1}), 2);
  const passes::WeightSums two(reals({1.5, 0}, {1, 2}), bytes({1, 0}, {1, 2}), reals({1, 1}, {2}), 1, 1);
  const NodeExactness a = whole.exactness(two), b = parts.exactness(two);
  EXPECT_DOUBLE_EQ(a.plain, b.plain);
  EXPECT_DOUBLE_EQ(a.corrected, b.corrected);
  EXPECT_EQ(a.means.rounded, b.means.rounded);
  EXPECT_EQ(a.means.lost, b.means.lost);
}

} // namespace
} // namespace lanner
