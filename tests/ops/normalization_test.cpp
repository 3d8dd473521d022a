#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "ops/node_run.h"

using namespace lanner;
using namespace lanner::test;

static const auto no_epsilon = attributes({{"epsilon", 0.0}});

TEST(BatchNormalization, scales_by_channel) {
  const Tensor x = f32s({1, 2, 3, 4}, {1, 2, 2});
  EXPECT_EQ(
      show(run(
          {"batch_normalization", {x, f32s({1, 2}), f32s({0, 1}), f32s({1, 3}), f32s({1, 4})}, no_epsilon})),
      "f32[1, 2, 2](0, 1, 1, 2)");
}

TEST(BatchNormalization, training_updates_running_values) {
  const auto training = attributes({{"epsilon", 0.0}, {"training_mode", std::int64_t{1}}, {"momentum", 0.5}});
  const Tensor x = f32s({1, 3}, {2, 1}), one = f32s({1}), zero = f32s({0});
  const std::vector<Tensor> found = run_all({"batch_normalization", {x, one, zero, zero, one}, training, 3});
  EXPECT_EQ(show(found[0]), "f32[2, 1](-1, 1)");
  EXPECT_EQ(show(found[1]), "f32[1](1)");
  EXPECT_EQ(show(found[2]), "f32[1](1)");
}

TEST(LayerNormalization, normalizes_from_an_axis_on) {
  const auto axis = attributes({{"axis", std::int64_t{1}}, {"epsilon", 0.0}});
  const std::vector<Tensor> found =
      run_all({"layer_normalization", {f32s({1, 3, 5, 9}, {2, 2}), f32s({2}), f32s({1})}, axis, 3});
  EXPECT_EQ(show(found[0]), "f32[2, 2](-1, 3, -1, 3)");
  EXPECT_EQ(show(found[1]), "f32[2, 1](2, 7)");
  EXPECT_EQ(show(found[2]), "f32[2, 1](1, 0.5)");
  EXPECT_EQ(inferred({"layer_normalization", {"f16[N, S, 8]", "f16[8]"}, {}, 3}, 1), "f32[N, S, 1]");
}

TEST(GroupNormalization, instances_are_groups_of_one_channel) {
  const Tensor x = f32s({1, 3, 5, 9}, {1, 2, 2}), one = f32s({1, 1}), zero = f32s({0, 0});
  EXPECT_EQ(show(run({"instance_normalization", {x, one, zero}, no_epsilon})), "f32[1, 2, 2](-1, 1, -1, 1)");
  auto groups = no_epsilon;
  groups.set("num_groups", std::int64_t{3});
  EXPECT_NE(inferred({"group_normalization", {"f32[1, 4, 2]", "f32[4]", "f32[4]"}, groups})
                .find("is 1, expected 0"),
            std::string::npos);
}

TEST(Softmax, works_along_any_axis) {
  const Tensor x = f32s({0, 100, 0, 100}, {2, 2});
  EXPECT_EQ(show(run({"softmax", {x}, attributes({{"axis", std::int64_t{0}}})})),
            "f32[2, 2](0.5, 0.5, 0.5, 0.5)");
  EXPECT_EQ(show(run({"hardmax", {f32s({1, 3, 3})}})), "f32[3](0, 1, 0)");
  EXPECT_EQ(show(run({"log_softmax", {f32s({-1000, 0})}})), "f32[2](-1000, 0)");
  EXPECT_NE(
      inferred({"softmax", {"f32[2, 2]"}, attributes({{"axis", std::int64_t{2}}})}).find("out of range"),
      std::string::npos);
}

// A line without a finite largest element has no softmax.
TEST(Softmax, nan_and_infinity_make_their_line_nan) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const Tensor x = f32s({1, nan, 2, -inf, -inf, -inf, 1, inf, 2, 0, -inf, 0}, {4, 3});
  const Tensor shares = run({"softmax", {x}}), logarithms = run({"log_softmax", {x}});
  for (std::size_t i = 0; i < 9; ++i) {
    EXPECT_TRUE(std::isnan(shares.as<float>()[i])) << i;
    EXPECT_TRUE(std::isnan(logarithms.as<float>()[i])) << i;
  }
  EXPECT_EQ(shares.as<float>()[9], 0.5f);
  EXPECT_EQ(shares.as<float>()[10], 0);
  EXPECT_EQ(logarithms.as<float>()[10], -inf);
}

TEST(Lrn, sums_over_neighbouring_channels) {
  const auto sums = attributes({{"size", std::int64_t{3}}, {"alpha", 3.0}, {"beta", 1.0}, {"bias", 0.0}});
  EXPECT_EQ(show(run({"lrn", {f32s({1, 2, 2}, {1, 3, 1})}, sums})), "f32[1, 3, 1](0.2, 0.22222222, 0.25)");
}
