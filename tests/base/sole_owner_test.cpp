#include "base/threads/sole_owner.h"

#include <gtest/gtest.h>

#include <thread>

namespace lanner {
namespace {

TEST(SoleOwner, FalseForNullAndForTwoOwners) {
  EXPECT_FALSE(sole_owner(std::shared_ptr<int>()));
  auto one = std::make_shared<int>(1);
  EXPECT_TRUE(sole_owner(one));
  std::shared_ptr<int> two = one;
  EXPECT_FALSE(sole_owner(one));
  two.reset();
  EXPECT_TRUE(sole_owner(one));
  EXPECT_EQ(one.use_count(), 1);
}

// Fails under the thread sanitizer if only the count is checked.
TEST(SoleOwner, ReadsOfFormerOwnersHappenBefore) {
  for (int round = 0; round < 100; ++round) {
    auto value = std::make_shared<int>(round);
    int seen = -1;
    std::thread reader([&seen, held = value]() mutable {
      seen = *held;
      held.reset();
    });
    while (!sole_owner(value)) std::this_thread::yield();
    *value = -1;
    reader.join();
    EXPECT_EQ(seen, round);
  }
}

} // namespace
} // namespace lanner
