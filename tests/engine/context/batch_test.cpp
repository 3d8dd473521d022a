// Splits the results of a batch by picture.

#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lanner/batch.h>

namespace lanner {
namespace {

TEST(BatchPart, IsAViewOfOnePicture) {
  const Tensor all = Tensor::from<float>(std::vector<float>{0, 1, 2, 3, 4, 5}, {3, 2});
  const Tensor part = batch_part(all, 1, 3);
  EXPECT_EQ(part.shape(), Shape({1, 2}));
  EXPECT_EQ(part.data(), static_cast<const float*>(all.data()) + 2);
  EXPECT_EQ(part.as<float>()[1], 3);
}

TEST(BatchPart, IsTheWholeValueWithoutABatchAxis) {
  const Tensor two = Tensor::from<float>(std::vector<float>{0, 1}, {2});
  EXPECT_EQ(batch_part(two, 1, 3).shape(), Shape({2}));
  EXPECT_EQ(batch_part(Tensor::scalar(1.f), 0, 1).rank(), 0u);
  const Tensor words = Tensor::from<std::string>(std::vector<std::string>{"a", "b"}, {2});
  EXPECT_EQ(batch_part(words, 1, 2).shape(), Shape({2}));
}

} // namespace
} // namespace lanner
