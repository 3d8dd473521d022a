// How convolutions whose rows share pixels are cut into blocks.

#include "backends/contraction/blocking.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/group.h"
#include "graph/parsed.h"

namespace lanner {
namespace {

struct Blocks {
  Blocking blocking;
  std::int64_t bytes = 0; ///< Of the rows of one.
  std::int64_t lines = 0;
};

/// Of a 3x3 convolution of square images into as many channels.
Blocks blocks_of(std::int64_t images, std::int64_t channels, std::int64_t columns, std::int64_t size,
                 int threads) {
  const auto graph = test::parsed(fmt::format(
      "graph @g(%x: f32[{0}, {1}, {3}, {3}]) -> (%y) {{\n"
      "%w: f32[{2}, {1}, 3, 3] = constant() {{value = random(f32[{2}, {1}, 3, 3], seed = 3, std = 0.1)}}\n"
      "%y: f32[{0}, {2}, {3}, {3}] = conv(%x, %w) {{pads = [1, 1, 1, 1]}}\n}}",
      images, channels, columns, size));
  std::string reason;
  const Node& conv = *graph->body().outputs()[0]->producer();
  const auto contraction = real_contraction_of(Group::of(conv), true, reason);
  const BlockFunctions& functions = bf16_tiles_baseline();
  EXPECT_TRUE(contraction && can_share_pixels(*contraction, functions)) << reason;
  if (!contraction) return {};
  const ImageRows rows(*contraction, functions, 2 * channels);
  const Blocking b = shared_blocking(*contraction, functions, rows, threads);
  return {b, b.images * rows.bytes(b.lines), rows.lines()};
}

constexpr std::int64_t in_cache = 1 << 20;

TEST(SharedBlocking, WholeImagesShareTheWeightsTheyRead) {
  const Blocks two = blocks_of(8, 128, 128, 14, 2);
  EXPECT_EQ(two.blocking.lines, two.lines);
  EXPECT_GT(two.blocking.images, 1);
  EXPECT_LE(two.bytes, in_cache);
  EXPECT_GE(two.blocking.tasks(1), 8) << "threads that lose their core lose less than a share";
}

TEST(SharedBlocking, LargeImagesAreCutIntoLines) {
  const Blocks one = blocks_of(1, 32, 32, 300, 2);
  EXPECT_EQ(one.blocking.images, 1);
  EXPECT_LT(one.blocking.lines, one.lines);
  EXPECT_LE(one.bytes, in_cache);
}

TEST(SharedBlocking, ALineThatExceedsTheCacheIsABlock) {
  const Blocks wide = blocks_of(1, 2048, 16, 90, 1);
  EXPECT_EQ(wide.blocking.lines, 1);
  EXPECT_GT(wide.bytes, in_cache);
}

} // namespace
} // namespace lanner
