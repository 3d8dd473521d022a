#include "calibration/histogram.h"

#include <algorithm>
#include <cfloat>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "calibration/distributions.h"
#include "expect_error.h"

namespace lanner {
namespace {

using test::histogram_of;
using test::range_of;

constexpr float infinity = std::numeric_limits<float>::infinity(),
                nan_value = std::numeric_limits<float>::quiet_NaN();

/// Counted value by value, by comparing with the edges.
std::vector<std::uint64_t> counted_by_edges(const std::vector<float>& values, double largest) {
  std::vector<double> edges;
  for (std::size_t i = 0; i < TensorHistogram::bins; ++i)
    edges.push_back(static_cast<double>(i) * largest / TensorHistogram::bins);
  std::vector<std::uint64_t> counts(TensorHistogram::bins);
  for (const float value : values)
    if (const double magnitude = std::abs(value); magnitude > 0)
      ++counts[static_cast<std::size_t>(std::ranges::upper_bound(edges, magnitude) - edges.begin()) - 1];
  return counts;
}

TEST(ObservedRange, FindsExtremesAndLeavesOutWhatIsNotFinite) {
  const ObservedRange range = range_of(std::vector{1.f, nan_value, -3.f, infinity, 0.f, -infinity, 2.f});
  EXPECT_EQ(range.least, -3);
  EXPECT_EQ(range.most, 2);
  EXPECT_EQ(range.count, 4u);
  EXPECT_EQ(range.not_finite, 3u);
  EXPECT_EQ(range.largest(), 3);
  EXPECT_TRUE(range.has_negative());
}

TEST(ObservedRange, OfNoValuesOrNoneThatIsFiniteIsZero) {
  EXPECT_EQ(ObservedRange(), range_of({}));
  const ObservedRange range = range_of(std::vector{nan_value, infinity});
  EXPECT_EQ(range.least, 0);
  EXPECT_EQ(range.most, 0);
  EXPECT_EQ(range.count, 0u);
  EXPECT_EQ(range.not_finite, 2u);
}

TEST(ObservedRange, OfPositiveValuesDoesNotBeginAtZero) {
  ObservedRange range = range_of(std::vector{2.f, 5.f});
  EXPECT_EQ(range.least, 2);
  range.add(ObservedRange());
  EXPECT_EQ(range.least, 2);
  EXPECT_FALSE(range.has_negative());
}

TEST(ObservedRange, IsWidenedToAFewBits) {
  ObservedRange one{-6, 13.083771705627441F, 2, 0}, other{-6, 13.083772659301758F, 2, 0};
  one.widen();
  other.widen();
  EXPECT_EQ(one, other);
  EXPECT_EQ(one.least, -6);
  EXPECT_GE(one.most, 13.0837727F);
  EXPECT_LE(one.most, 13.0837727F * 1.0005F);
  constexpr float largest = std::numeric_limits<float>::max();
  ObservedRange widest{-largest, largest, 2, 0}, none;
  widest.widen();
  EXPECT_EQ(widest.most, largest);
  none.widen();
  EXPECT_EQ(none, ObservedRange());
}

TEST(ObservedRange, NegativeZeroIsZeroInEitherOrder) {
  for (const std::vector<float>& values : {std::vector{0.f, -0.f}, std::vector{-0.f, 0.f}}) {
    EXPECT_FALSE(std::signbit(range_of(values).least));
    EXPECT_FALSE(std::signbit(range_of(values).most));
  }
}

TEST(TensorHistogram, CountsEachValueBetweenItsEdges) {
  for (const std::size_t count : {1000, 100'000}) { // with one table, and with several
    std::vector<float> values = test::values_of(count, test::gaussian);
    values[7] = 0;
    values[8] = -0.f;
    const TensorHistogram histogram = histogram_of(values);
    const auto expected = counted_by_edges(values, histogram.largest());
    EXPECT_TRUE(std::ranges::equal(histogram.counts(), expected));
    EXPECT_EQ(histogram.values(), count);
    EXPECT_EQ(histogram.zeros(), 2u);
    EXPECT_EQ(histogram.beyond(), 0u);
    EXPECT_GT(histogram.counts().back(), 0u) << "the largest magnitude is in the last bin";
  }
}

TEST(TensorHistogram, IsTheSameInAnyOrderAndBatchSize) {
  std::vector<float> values = test::values_of(150'000, test::laplace);
  values[3] = nan_value;
  values[9] = -infinity;
  const TensorHistogram whole = histogram_of(values);
  std::mt19937 random(5);
  for (const std::size_t batch : {1, 77, 4096, 100'000}) {
    std::ranges::shuffle(values, random);
    ObservedRange range;
    const auto each_batch = [&](const auto& use) {
      for (std::size_t first = 0; first < values.size(); first += batch)
        use(std::span<const float>(values).subspan(first, std::min(batch, values.size() - first)));
    };
    each_batch([&](std::span<const float> part) { range.add(part); });
    EXPECT_EQ(range, whole.range());
    TensorHistogram histogram(range);
    if (batch > 1)
      each_batch([&](std::span<const float> part) { histogram.add(part); });
    else
      histogram.add(values);
    EXPECT_EQ(histogram, whole) << batch;
  }
}

TEST(TensorHistogram, OfPartsAddsUpToTheWhole) {
  const std::vector<float> values = test::values_of(100'000, test::gaussian);
  const TensorHistogram whole = histogram_of(values);
  TensorHistogram first(whole.range()), second(whole.range());
  first.add(std::span(values).first(30'000));
  second.add(std::span(values).subspan(30'000));
  first.add(second);
  EXPECT_EQ(first, whole);
  TensorHistogram other(range_of(std::vector{1.f}));
  LANNER_EXPECT_ERROR(first.add(other), ErrorCode::invalid_argument, "same range");
}

TEST(TensorHistogram, CountsValuesThatAreNotFiniteOrBeyondTheRangeApart) {
  TensorHistogram histogram(range_of(std::vector{-1.f, 0.5f}));
  histogram.add(std::vector{nan_value, infinity, -infinity, -1.f, 0.5f, 7.f, FLT_MAX, 0.f});
  EXPECT_EQ(histogram.not_finite(), 3u);
  EXPECT_EQ(histogram.beyond(), 2u);
  EXPECT_EQ(histogram.zeros(), 1u);
  EXPECT_EQ(histogram.values(), 5u);
  EXPECT_EQ(histogram.counts().back(), 3u);
  EXPECT_EQ(histogram.counts()[TensorHistogram::bins / 2], 1u);
}

TEST(TensorHistogram, HoldsDenormalAndLargestMagnitudes) {
  for (const float largest : {FLT_MAX, FLT_TRUE_MIN, 1000 * FLT_TRUE_MIN, FLT_MIN, 1.f}) {
    const TensorHistogram histogram = histogram_of(std::vector{largest, -largest, 0.f});
    EXPECT_EQ(histogram.counts().back(), 2u) << largest;
    EXPECT_EQ(histogram.zeros(), 1u) << largest;
    EXPECT_EQ(std::accumulate(histogram.counts().begin(), histogram.counts().end(), 0u), 2u) << largest;
  }
}

TEST(TensorHistogram, OfZerosHasNothingInItsBins) {
  const TensorHistogram histogram = histogram_of(std::vector<float>(100'000));
  EXPECT_EQ(histogram.zeros(), 100'000u);
  EXPECT_EQ(histogram.values(), 100'000u);
  EXPECT_EQ(histogram.largest(), 0);
  TensorHistogram later(histogram.range());
  later.add(std::vector{3.f});
  EXPECT_EQ(later.beyond(), 1u);
}

} // namespace
} // namespace lanner
