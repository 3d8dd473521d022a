#include "device/memory_arena.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "base/huge_pages.h"
#include "base/limits/account.h"
#include "expect_error.h"

namespace lanner {
namespace {

constexpr std::uint64_t kib = 1024, mib = 1024 * kib;

TEST(MemoryArena, BlocksAreAlignedAndKeepWhatIsWrittenToThem) {
  const std::vector<std::uint64_t> sizes{1, 64, 100, 3 * mib, 17, 0, 20 * mib, 4 * mib + 1, 15 * mib, 12};
  MemoryArena arena;
  std::vector<std::shared_ptr<void>> blocks;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    blocks.push_back(arena.allocate(sizes[i]));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back().get()) % 64, 0u);
    std::memset(blocks.back().get(), static_cast<int>(i + 1), sizes[i]);
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto* bytes = static_cast<const unsigned char*>(blocks[i].get());
    for (std::uint64_t at = 0; at < sizes[i]; ++at) ASSERT_EQ(bytes[at], i + 1) << "block " << i;
  }
}

TEST(MemoryArena, LargeBlocksAreNeighboursInOneSlab) {
  MemoryArena arena;
  const auto first = arena.allocate(3 * mib), second = arena.allocate(4 * mib);
  EXPECT_EQ(static_cast<std::byte*>(second.get()) - static_cast<std::byte*>(first.get()), 3 * mib);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first.get()) % huge_page, 0u);
}

TEST(MemoryArena, BlocksOutliveTheArenaAndOneAnother) {
  auto arena = std::make_unique<MemoryArena>();
  auto first = arena->allocate(3 * mib);
  const auto second = arena->allocate(3 * mib);
  std::memset(second.get(), 7, 3 * mib);
  arena.reset();
  first.reset();
  EXPECT_EQ(static_cast<const unsigned char*>(second.get())[3 * mib - 1], 7);
}

TEST(MemoryArena, BlocksCountInTheAccountOnceEach) {
  Limits limits;
  limits.total_bytes = 10 * mib;
  const AccountPtr account = std::make_shared<Account>(limits);
  const AccountScope scope(account);
  MemoryArena arena;
  auto first = arena.allocate(6 * mib);
  LANNER_EXPECT_ERROR(arena.allocate(6 * mib), ErrorCode::limit_exceeded, "total_bytes");
  first.reset();
  EXPECT_NE(arena.allocate(6 * mib), nullptr);
  EXPECT_EQ(account->held(), 0u);
}

TEST(MemoryArena, SizesThatCannotBeRoundedAreRefused) {
  MemoryArena arena;
  EXPECT_ANY_THROW(arena.allocate(~std::uint64_t{0}));
  EXPECT_EQ(map_huge_pages(~std::size_t{0}), nullptr);
  EXPECT_EQ(map_huge_pages(0), nullptr);
}

} // namespace
} // namespace lanner
