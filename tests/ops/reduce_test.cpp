#include <limits>

#include <gtest/gtest.h>

#include "ops/node_run.h"

using namespace lanner;
using namespace lanner::test;

static const auto drop = attributes({{"keepdims", std::int64_t{0}}});

TEST(Reduce, infers_with_and_without_kept_dims) {
  EXPECT_EQ(inferred({"reduce_sum", {"f32[N, 3, W]", i64s({-1})}}), "f32[N, 3, 1]");
  EXPECT_EQ(inferred({"reduce_mean", {"f32[N, 3, W]", i64s({1, 2})}, drop}), "f32[N]");
  EXPECT_EQ(inferred({"reduce_max", {"f32[N, 3]"}}), "f32[1, 1]");
  EXPECT_EQ(inferred({"reduce_sum", {"f32[N, 3]", "i64[1]"}, drop}), "f32[*]");
  EXPECT_NE(inferred({"reduce_sum", {"f32[N, 3]", i64s({0, -2})}}).find("twice"), std::string::npos);
}

TEST(Reduce, folds_over_any_axes) {
  const Tensor x = f32s({1, -2, 3, 4, 5, -6, 7, 8}, {2, 2, 2});
  EXPECT_EQ(show(run({"reduce_sum", {x, i64s({0, 2})}, drop})), "f32[2](-2, 22)");
  EXPECT_EQ(show(run({"reduce_prod", {x, i64s({1})}, drop})), "f32[2, 2](3, -8, 35, -48)");
  EXPECT_EQ(show(run({"reduce_max", {x, i64s({2, 1, 0})}, drop})), "f32[](8)");
  EXPECT_EQ(show(run({"reduce_l1", {x, i64s({2})}, drop})), "f32[2, 2](3, 7, 11, 15)");
  EXPECT_EQ(show(run({"reduce_sum_square", {f32s({3, 4})}, drop})), "f32[](25)");
  EXPECT_EQ(show(run({"reduce_l2", {tensor<std::int32_t>({-3, 4}, {2})}, drop})), "i32[](5)");
}

TEST(Reduce, an_empty_set_gives_the_neutral_element) {
  const Tensor none = f32s({}, {2, 0});
  EXPECT_EQ(show(run({"reduce_sum", {none, i64s({1})}, drop})), "f32[2](0, 0)");
  EXPECT_EQ(show(run({"reduce_min", {none, i64s({1})}, drop})), "f32[2](inf, inf)");
  EXPECT_EQ(show(run({"reduce_log_sum_exp", {none, i64s({1})}, drop})), "f32[2](-inf, -inf)");
}

TEST(Reduce, log_sum_exp_does_not_overflow) {
  EXPECT_EQ(show(run({"reduce_log_sum_exp", {f32s({1000, -1000})}, drop})), "f32[](1000)");
}

TEST(Reduce, noop_still_applies_the_element_function) {
  const auto noop = attributes({{"noop_with_empty_axes", std::int64_t{1}}});
  EXPECT_EQ(show(run({"reduce_sum_square", {f32s({2, 3})}, noop})), "f32[2](4, 9)");
}

TEST(Reduce, follows_products_of_sizes) {
  EXPECT_EQ(known({"reduce_prod", {i64s({2, 3, 4})}}), "[24]");
}

TEST(ArgMax, breaks_ties_by_index) {
  const Tensor x = f32s({3, 1, 3}, {3});
  EXPECT_EQ(show(run({"arg_max", {x}})), "i64[1](0)");
  EXPECT_EQ(show(run({"arg_max", {x}, attributes({{"select_last_index", std::int64_t{1}}})})), "i64[1](2)");
  EXPECT_EQ(show(run({"arg_min", {x}, drop})), "i64[](1)");
}

TEST(TopK, equal_elements_are_ordered_by_index) {
  const NodeSpec spec{"top_k", {f32s({2, 9, 9, 1}), i64s({3})}, {}, 2};
  const std::vector<Tensor> found = run_all(spec);
  EXPECT_EQ(show(found[0]), "f32[3](9, 9, 2)");
  EXPECT_EQ(show(found[1]), "i64[3](1, 2, 0)");
  EXPECT_EQ(inferred({"top_k", {"f32[N, 10]", i64s({3})}, {}, 2}, 1), "i64[N, 3]");
  EXPECT_NE(inferred({"top_k", {"f32[N, 2]", i64s({3})}, {}, 2}).find("k is 3"), std::string::npos);
}

TEST(TopK, nan_is_the_largest) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = f32s({1, nan, 3, nan, 2});
  const std::vector<Tensor> most = run_all({"top_k", {x, i64s({3})}, {}, 2});
  EXPECT_EQ(show(most[0]) + show(most[1]), "f32[3](nan, nan, 3)i64[3](1, 3, 2)");
  const auto smallest = attributes({{"largest", std::int64_t{0}}});
  const std::vector<Tensor> least = run_all({"top_k", {x, i64s({4})}, smallest, 2});
  EXPECT_EQ(show(least[0]) + show(least[1]), "f32[4](1, 2, 3, nan)i64[4](0, 4, 2, 1)");
}

TEST(Reduce, overflow_of_64_bits_wraps) {
  const Tensor large = i64s({INT64_MAX, 2});
  EXPECT_EQ(known({"reduce_sum", {large}}), "[-9223372036854775807]");
  EXPECT_EQ(known({"reduce_prod", {large}}), "[-2]");
  EXPECT_EQ(show(run({"reduce_sum", {large}})), "i64[1](-9223372036854775807)");
  EXPECT_EQ(known({"reduce_sum", {i64s({INT64_MAX, -2})}}), "[9223372036854775805]");
}

TEST(CumSum, forward_reverse_and_exclusive) {
  const Tensor x = f32s({1, 2, 3}), axis = i64s({0}, {});
  EXPECT_EQ(show(run({"cum_sum", {x, axis}})), "f32[3](1, 3, 6)");
  const auto other = attributes({{"exclusive", std::int64_t{1}}, {"reverse", std::int64_t{1}}});
  EXPECT_EQ(show(run({"cum_sum", {x, axis}, other})), "f32[3](5, 3, 0)");
  EXPECT_EQ(show(run({"cum_prod", {x, axis}})), "f32[3](1, 2, 6)");
}
