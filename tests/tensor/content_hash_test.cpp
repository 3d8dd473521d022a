#include <gtest/gtest.h>

#include "tensor/content_hash.h"

namespace lanner {

static Tensor numbers(std::vector<float> values, Shape shape) {
  return Tensor::from<float>(values, std::move(shape));
}

TEST(ContentHash, DiffersByTypeShapeLayoutAndElements) {
  const Tensor a = numbers({1, 2, 3, 4}, {2, 2});
  EXPECT_EQ(content_hash(a), content_hash(numbers({1, 2, 3, 4}, {2, 2})));
  EXPECT_TRUE(same_content(a, numbers({1, 2, 3, 4}, {2, 2})));
  const Tensor integers = Tensor::from<std::int32_t>(std::vector<std::int32_t>{1, 2, 3, 4}, {2, 2});
  for (const Tensor& other : {numbers({1, 2, 3, 5}, {2, 2}), numbers({1, 2, 3, 4}, {4}), integers}) {
    EXPECT_NE(content_hash(a), content_hash(other));
    EXPECT_FALSE(same_content(a, other));
  }
  EXPECT_FALSE(same_content(numbers({0.0f}, {1}), numbers({-0.0f}, {1})));
}

TEST(ContentHash, ReadsStrings) {
  const auto text = [](std::vector<std::string> values) {
    const auto count = static_cast<std::int64_t>(values.size());
    return Tensor::from<std::string>(values, {count});
  };
  EXPECT_EQ(content_hash(text({"ab", "c"})), content_hash(text({"ab", "c"})));
  EXPECT_NE(content_hash(text({"ab", "c"})), content_hash(text({"a", "bc"})));
  EXPECT_TRUE(same_content(text({"a"}), text({"a"})));
  EXPECT_FALSE(same_content(text({"a"}), text({"b"})));
}

} // namespace lanner
