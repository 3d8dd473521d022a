#include "calibration/signal_noise.h"

#include <cfloat>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "calibration/distributions.h"
#include "expect_error.h"

namespace lanner {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN(),
                big = std::numeric_limits<float>::infinity();

SignalNoise of(const std::vector<float>& reference, const std::vector<float>& quantised) {
  SignalNoise found;
  found.add(reference, quantised);
  return found;
}

TEST(SignalNoise, IsTheRatioOfSumsOfSquares) {
  const SignalNoise found = of({3, -4, 0, 0, 0}, {3, -4, 0.5f, 0, 0}); // 25 to 0.25
  EXPECT_DOUBLE_EQ(found.decibels(), 20);
  EXPECT_NEAR(found.cosine(), 25 / (5 * std::sqrt(25.25)), 1e-12);
  EXPECT_EQ(found.count(), 5u);
}

TEST(SignalNoise, WithLessNoiseIsThatOfTheRest) {
  const SignalNoise found = of({3, -4, 0, 0, 0}, {3, -4, 0.5f, 0.5f, 0});
  EXPECT_DOUBLE_EQ(found.with_less_noise(0.25).decibels(), 20);
  EXPECT_EQ(found.with_less_noise(0.6).decibels(), infinite);
  EXPECT_LT(found.with_less_noise(-0.1).decibels(), found.decibels());
}

TEST(SignalNoise, OfValuesRoundedToSevenBitsAndSignIsThatOfTheStep) {
  // Uniform values from -1 to 1 have a power of 1/3, errors up to half a step s one of s * s / 12.
  std::vector<float> values(100'000);
  test::Uniform uniform;
  for (float& value : values) value = static_cast<float>(2 * uniform() - 1);
  std::vector<float> rounded = values;
  for (float& value : rounded) value = std::round(value * 127) / 127;
  EXPECT_NEAR(of(values, rounded).decibels(), 10 * std::log10(12. * 127 * 127 / 3), 0.05);
  EXPECT_GT(of(values, rounded).cosine(), 0.9999);
}

TEST(SignalNoise, OfEqualValuesIsInfinite) {
  EXPECT_EQ(SignalNoise().decibels(), infinite);
  EXPECT_EQ(SignalNoise().cosine(), 1);
  EXPECT_EQ(of({1, 2}, {1, 2}).decibels(), infinite);
  EXPECT_EQ(of({0, 0}, {0, -0.f}).decibels(), infinite);
  EXPECT_EQ(of({0, 0}, {0, 0}).cosine(), 1);
  EXPECT_EQ(of({0, 0}, {0, 1}).decibels(), -infinite);
  EXPECT_EQ(of({0, 0}, {0, 1}).cosine(), 0);
  EXPECT_DOUBLE_EQ(of({1, 2}, {-1, -2}).cosine(), -1);
}

TEST(SignalNoise, OfValuesThatAreNotFiniteIsExactWhereBothAreTheSame) {
  EXPECT_EQ(of({nan_value, big, -big, 1}, {nan_value, big, -big, 1}).decibels(), infinite);
  EXPECT_DOUBLE_EQ(of({nan_value, big, 1}, {nan_value, big, 1.1f}).decibels(), of({1}, {1.1f}).decibels());
  for (const float wrong : {nan_value, big, -big}) {
    EXPECT_EQ(of({1, 2}, {1, wrong}).decibels(), -infinite);
    EXPECT_EQ(of({1, wrong}, {1, 2}).decibels(), -infinite);
    EXPECT_EQ(of({1, wrong}, {1, 2}).cosine(), 0);
  }
  EXPECT_EQ(of({big}, {-big}).decibels(), -infinite);
  EXPECT_DOUBLE_EQ(of({FLT_MAX, FLT_MAX}, {FLT_MAX, 0}).decibels(), 10 * std::log10(2));
}

TEST(SignalNoise, AddsUpOverBatches) {
  const std::vector<float> reference = test::values_of(1003, test::gaussian);
  std::vector<float> quantised = reference;
  for (std::size_t i = 0; i < quantised.size(); ++i) quantised[i] += i % 3 == 0 ? 0.01f : -0.003f;
  const SignalNoise whole = of(reference, quantised);
  SignalNoise batches, rest;
  batches.add(std::span(reference).first(501), std::span(quantised).first(501));
  rest.add(std::span(reference).subspan(501), std::span(quantised).subspan(501));
  batches.add(rest);
  EXPECT_NEAR(batches.decibels(), whole.decibels(), 1e-9);
  EXPECT_NEAR(batches.cosine(), whole.cosine(), 1e-12);
  EXPECT_EQ(batches.count(), whole.count());
  LANNER_EXPECT_ERROR(batches.add(reference, std::span(quantised).first(3)), ErrorCode::invalid_argument,
                      "1003 reference values and 3 quantised ones");
}

TEST(CentredSignalNoise, LeavesOutWhatAllInputsHaveInCommon) {
  // 100 in common, which is no signal; each input has 1 of its own, and an error of 0.1.
  CentredSignalNoise found;
  for (const float own : {1.f, -1.f})
    found.add_input(std::vector{100 + own, 50.f, 100 - own}, std::vector{100 + own, 50.1f, 100 - own});
  for (const SignalNoise& input : found.by_input())
    EXPECT_NEAR(input.decibels(), 10 * std::log10(2 / 0.01), 1e-3);
  EXPECT_NEAR(found.together().decibels(), 10 * std::log10(2 / 0.01), 1e-3);
  EXPECT_EQ(found.inputs(), 2u);
  SignalNoise plain;
  plain.add(std::vector{101.f, 50.f, 99.f}, std::vector{101.f, 50.1f, 99.f});
  EXPECT_GT(plain.decibels(), 60);
}

TEST(CentredSignalNoise, CountsAnErrorThatAllInputsShare) {
  CentredSignalNoise found;
  for (const float own : {3.f, -3.f}) found.add_input(std::vector{10 + own}, std::vector{10 + own + 0.3f});
  EXPECT_NEAR(found.together().decibels(), 20, 1e-3);
  EXPECT_NEAR(median_decibels(found.by_input()), 20, 1e-3);
}

TEST(CentredSignalNoise, OfOneInputWithNaNIsWrongForThatInputAlone) {
  CentredSignalNoise found;
  found.add_input(std::vector{1.f, 2.f}, std::vector{1.f, nan_value});
  found.add_input(std::vector{nan_value, 4.f}, std::vector{1.f, 4.f});
  found.add_input(std::vector{3.f, 5.f}, std::vector{3.f, 5.f});
  const std::vector<SignalNoise> inputs = found.by_input();
  EXPECT_EQ(inputs[0].decibels(), -infinite);
  EXPECT_EQ(inputs[1].decibels(), -infinite);
  EXPECT_EQ(inputs[2].decibels(), infinite);
}

TEST(CentredSignalNoise, RefusesRowsOfAnotherLength) {
  CentredSignalNoise found;
  found.add_input(std::vector{1.f, 2.f}, std::vector{1.f, 2.f});
  LANNER_EXPECT_ERROR(found.add_input(std::vector{1.f}, std::vector{1.f}), ErrorCode::invalid_argument,
                      "input 1: 1 reference values and 1 quantised ones, expected 2 of each");
}

TEST(CentredSignalNoise, MedianIsTheLowerMiddle) {
  const std::vector<SignalNoise> inputs{of({1}, {1.1f}), of({1}, {2}), of({1}, {1}), of({1}, {1.01f})};
  EXPECT_DOUBLE_EQ(median_decibels(inputs), inputs[0].decibels());
  EXPECT_EQ(median_cosine(inputs), 1);
  EXPECT_EQ(median_decibels({}), infinite);
  EXPECT_TRUE(CentredSignalNoise().by_input().empty());
}

} // namespace
} // namespace lanner
