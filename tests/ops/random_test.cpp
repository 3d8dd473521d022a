#include <cmath>

#include <gtest/gtest.h>

#include "ops/node_run.h"
#include "ops/table/table.h"

using namespace lanner;
using namespace lanner::test;

static std::pair<double, double> mean_and_deviation(const Tensor& tensor) {
  double sum = 0, squares = 0;
  for (const float value : tensor.as<float>()) {
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  const double count = static_cast<double>(tensor.elements()), mean = sum / count;
  return {mean, std::sqrt(squares / count - mean * mean)};
}

TEST(Random, a_seed_fixes_the_numbers) {
  const AttributeMap seeded = attributes({{"shape", ints({4})}, {"seed", 7.0}});
  EXPECT_EQ(show(run({"random_normal", {}, seeded})), show(run({"random_normal", {}, seeded})));
  const AttributeMap unseeded = attributes({{"shape", ints({4})}});
  EXPECT_NE(show(run({"random_normal", {}, unseeded})), show(run({"random_normal", {}, unseeded})));
  EXPECT_FALSE(builtin_op_table().get("random_normal").pure);
}

TEST(Random, follows_its_distribution) {
  const auto normal = mean_and_deviation(
      run({"random_normal",
           {},
           attributes({{"shape", ints({20000})}, {"seed", 1.0}, {"mean", 3.0}, {"scale", 2.0}})}));
  EXPECT_NEAR(normal.first, 3, 0.1);
  EXPECT_NEAR(normal.second, 2, 0.1);
  const auto uniform = mean_and_deviation(
      run({"random_uniform", {}, attributes({{"shape", ints({20000})}, {"seed", 1.0}, {"low", -1.0}})}));
  EXPECT_NEAR(uniform.first, 0, 0.05);
  EXPECT_NEAR(uniform.second, 2 / std::sqrt(12.0), 0.05);
}

TEST(Random, draws_classes_by_their_weight) {
  const Tensor logits = f32s({0, std::log(3.0f), -1000}, {1, 3});
  const Tensor drawn =
      run({"multinomial",
           {logits},
           attributes({{"sample_size", std::int64_t{4000}}, {"seed", 2.0}, {"dtype", DType::i64}})});
  int counts[3] = {};
  for (const std::int64_t value : drawn.as<std::int64_t>()) ++counts[value];
  EXPECT_NEAR(counts[0], 1000, 100);
  EXPECT_EQ(counts[2], 0);
  EXPECT_EQ(show(run({"bernoulli", {f32s({0, 1, 1})}})), "f32[3](0, 1, 1)");
}
