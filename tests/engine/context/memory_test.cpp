#include "program/memory/memory.h"

#include <random>

#include <gtest/gtest.h>

#include "expect_error.h"

namespace lanner {
namespace {

TEST(Memory, BuffersWithOverlappingLifetimesNeverOverlap) {
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    std::vector<BufferRequest> requests;
    for (int i = 0; i < 40; ++i) {
      const std::size_t first = random() % 30;
      requests.push_back({random() % 5000, {first, first + random() % 8}});
    }
    const std::uint64_t most_looks = round % 2 ? most_arena_looks : random() % 800;
    const ArenaPlan plan = plan_arena(requests, 64, most_looks);
    for (std::size_t a = 0; a < requests.size(); ++a) {
      EXPECT_EQ(plan.offsets[a] % 64, 0u);
      EXPECT_LE(plan.offsets[a] + requests[a].bytes, plan.bytes);
      for (std::size_t b = a + 1; b < requests.size(); ++b) {
        if (!requests[a].bytes || !requests[b].bytes) continue;
        const bool together = !requests[a].life.ends_before(requests[b].life) &&
                              !requests[b].life.ends_before(requests[a].life);
        const bool apart = plan.offsets[a] + requests[a].bytes <= plan.offsets[b] ||
                           plan.offsets[b] + requests[b].bytes <= plan.offsets[a];
        EXPECT_TRUE(!together || apart) << a << " " << b;
      }
    }
  }
}

TEST(Memory, ChainNeedsTwoBuffers) {
  std::vector<BufferRequest> requests;
  for (std::size_t i = 0; i < 10; ++i) requests.push_back({1000, {i, i + 1}});
  EXPECT_EQ(plan_arena(requests).bytes, 2048u);
}

/// The model file decides their number; comparing all pairs would take hours.
TEST(Memory, WorkOnVeryManyBuffersIsBounded) {
  constexpr std::size_t count = 300'000, steps_each = 1000;
  std::vector<BufferRequest> chain, together;
  for (std::size_t i = 0; i < count; ++i) {
    chain.push_back({1000 + i % 7 * 100, {i, i + 1}});
    together.push_back({64, {i / steps_each, count}});
  }
  const ArenaPlan of_chain = plan_arena(chain), all = plan_arena(together);
  EXPECT_LT(of_chain.looks, most_arena_looks + count);
  EXPECT_LT(all.looks, most_arena_looks + count);
  EXPECT_LE(of_chain.bytes, 2048u * 16); // two slots of each of a few sizes
  EXPECT_EQ(all.bytes, 64 * count);
}

TEST(Memory, OverflowingTheAddressSpaceIsRejected) {
  constexpr std::uint64_t quarter = std::uint64_t{1} << 62;
  const auto ask = [](std::vector<BufferRequest> requests) { return plan_arena(requests).bytes; };
  EXPECT_EQ(ask({{quarter, {0, 1}}}), quarter);
  const auto refused = "its values take more than 9223372036854775807 bytes at once";
  LANNER_EXPECT_ERROR(ask({{quarter, {0, 1}}, {quarter, {0, 1}}}), ErrorCode::limit_exceeded, refused);
  LANNER_EXPECT_ERROR(ask(std::vector<BufferRequest>(5, {quarter, {0, 1}})), ErrorCode::limit_exceeded,
                      refused);
  LANNER_EXPECT_ERROR(ask({{UINT64_MAX - 3, {0, 1}}}), ErrorCode::limit_exceeded, refused);
}

TEST(Memory, EmptyRequestsNeedNoMemory) {
  EXPECT_EQ(plan_arena({}).bytes, 0u);
}

} // namespace
} // namespace lanner
