// Run lengths and polygons of masks, read back.

#include <cmath>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "tasks/files/contour.h"
#include "tasks/files/formats.h"
#include "tasks/files/run_lengths.h"
#include "tasks/results.h"

namespace lanner {
namespace {

/// The counts that a packed text encodes, by COCO's description.
std::vector<std::uint32_t> unpacked(const std::string& text) {
  std::vector<std::uint32_t> counts;
  for (std::size_t at = 0; at < text.size();) {
    std::int64_t value = 0;
    int shift = 0;
    std::int64_t group = 0;
    do {
      group = text[at++] - 48;
      value |= (group & 31) << shift;
      shift += 5;
    } while ((group & 32) != 0);
    if ((group & 16) != 0) value -= std::int64_t{1} << shift;
    if (counts.size() > 2) value += counts[counts.size() - 2];
    counts.push_back(static_cast<std::uint32_t>(value));
  }
  return counts;
}

/// Pixel by pixel, down the columns.
std::vector<std::uint8_t> pixels_of(const std::vector<std::uint32_t>& counts) {
  std::vector<std::uint8_t> pixels;
  std::uint8_t inside = 0;
  for (const std::uint32_t count : counts) {
    pixels.insert(pixels.end(), count, inside);
    inside ^= 1;
  }
  return pixels;
}

Mask random_mask(std::mt19937& random, std::int32_t width, std::int32_t height) {
  const auto below = [&](std::int32_t bound) {
    return static_cast<std::int32_t>(random() % static_cast<unsigned>(bound));
  };
  Mask mask;
  mask.place.x = below(width);
  mask.place.y = below(height);
  mask.place.width = 1 + below(width - mask.place.x);
  mask.place.height = 1 + below(height - mask.place.y);
  mask.inside = Tensor::zeros(DType::u8, {mask.place.height, mask.place.width});
  const auto density = 1 + random() % 9;
  for (std::uint8_t& inside : mask.inside.as<std::uint8_t>()) inside = random() % 10 < density ? 1 : 0;
  return mask;
}

TEST(RunLengths, GoDownTheColumns) {
  EXPECT_EQ(run_lengths(mask_of(1, 1, {"##", "#."}), 4, 3), (std::vector<std::uint32_t>{4, 2, 1, 1, 4}));
  EXPECT_EQ(run_lengths(mask_of(0, 0, {"#"}), 1, 1), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(run_lengths(mask_of(0, 0, {"."}), 1, 1), (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(run_lengths(Mask{}, 5, 2), (std::vector<std::uint32_t>{10}));
}

TEST(RunLengths, PackingRoundTrips) {
  EXPECT_EQ(packed_run_lengths(std::vector<std::uint32_t>{4, 2, 1, 1, 4}), "421O3");
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const auto width = static_cast<std::int32_t>(1 + random() % 70),
               height = static_cast<std::int32_t>(1 + random() % 70);
    const Mask mask = random_mask(random, width, height);
    const std::vector<std::uint32_t> counts = run_lengths(mask, width, height);
    ASSERT_EQ(unpacked(packed_run_lengths(counts)), counts);
    const std::vector<std::uint8_t> pixels = pixels_of(counts);
    ASSERT_EQ(pixels.size(), static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
    ASSERT_EQ(std::accumulate(pixels.begin(), pixels.end(), std::int64_t{0}), mask_pixels(mask));
    const auto inside = mask.inside.as<std::uint8_t>();
    for (std::int32_t y = 0; y < mask.place.height; ++y)
      for (std::int32_t x = 0; x < mask.place.width; ++x)
        ASSERT_EQ(pixels[static_cast<std::size_t>((x + mask.place.x) * height + y + mask.place.y)],
                  inside[static_cast<std::size_t>(y * mask.place.width + x)]);
  }
  for (const std::uint32_t count : {0u, 15u, 16u, 31u, 32u, 511u, 512u, 1u << 28})
    EXPECT_EQ(unpacked(packed_run_lengths(std::vector<std::uint32_t>{count, 1, 5, 0, count})),
              (std::vector<std::uint32_t>{count, 1, 5, 0, count}));
}

float area(const std::vector<Corner>& polygon) {
  float twice = 0;
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    const Corner &a = polygon[i], &b = polygon[(i + 1) % polygon.size()];
    twice += a[0] * b[1] - b[0] * a[1];
  }
  return twice / 2;
}

TEST(Contour, FollowsPixelEdges) {
  EXPECT_EQ(outer_contour(mask_of(3, 4, {"#"})), (std::vector<Corner>{{3, 4}, {4, 4}, {4, 5}, {3, 5}}));
  EXPECT_EQ(outer_contour(mask_of(0, 0, {"....", ".##.", "...."})),
            (std::vector<Corner>{{1, 1}, {3, 1}, {3, 2}, {1, 2}}));
  EXPECT_TRUE(outer_contour(mask_of(0, 0, {"..", ".."})).empty());
  EXPECT_TRUE(outer_contour(Mask{}).empty());
}

TEST(Contour, UsesTheLargestPartAndIgnoresHoles) {
  const auto polygon =
      outer_contour(mask_of(0, 0, {"##.......", "....#####", "....#...#", "....#...#", "....#####"}));
  EXPECT_EQ(polygon, (std::vector<Corner>{{4, 1}, {9, 1}, {9, 5}, {4, 5}}));
  // Parts that touch at a corner are two.
  EXPECT_EQ(outer_contour(mask_of(0, 0, {"##..", "##..", "..#.", "...."})),
            (std::vector<Corner>{{0, 0}, {2, 0}, {2, 2}, {0, 2}}));
}

TEST(Contour, OfADiscHasFewCornersAndItsArea) {
  constexpr int size = 101;
  Mask mask{{0, 0, size, size}, Tensor::zeros(DType::u8, {size, size})};
  for (int y = 0; y < size; ++y)
    for (int x = 0; x < size; ++x)
      mask.inside.as<std::uint8_t>()[static_cast<std::size_t>(y * size + x)] =
          std::hypot(x - 50, y - 50) < 45 ? 1 : 0;
  const auto polygon = outer_contour(mask);
  EXPECT_LT(polygon.size(), 40u);
  const auto pixels = static_cast<float>(mask_pixels(mask));
  EXPECT_NEAR(area(polygon), pixels, 0.03f * pixels);
}

TEST(Contour, OfRandomMasksIsInsideThem) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const Mask mask = random_mask(random, 40, 40);
    const auto polygon = outer_contour(mask);
    EXPECT_EQ(polygon.empty(), mask_pixels(mask) == 0);
    if (!polygon.empty()) {
      EXPECT_GE(polygon.size(), 4u);
    }
    for (const Corner& corner : polygon) {
      ASSERT_GE(corner[0], static_cast<float>(mask.place.x));
      ASSERT_LE(corner[0], static_cast<float>(mask.place.x + mask.place.width));
      ASSERT_GE(corner[1], static_cast<float>(mask.place.y));
      ASSERT_LE(corner[1], static_cast<float>(mask.place.y + mask.place.height));
    }
  }
}

TEST(Contour, OfACombWithManyCornersEnds) {
  constexpr int size = 700; // two hundred thousand corners
  Mask mask{{0, 0, size, size}, Tensor::zeros(DType::u8, {size, size})};
  const auto inside = mask.inside.as<std::uint8_t>();
  for (int y = 0; y < size; ++y)
    for (int x = 0; x < size; ++x)
      inside[static_cast<std::size_t>(y * size + x)] =
          y % 4 == 0 || (y % 4 != 3 && x % 2 == 0) || x == 0 ? 1 : 0;
  EXPECT_GT(outer_contour(mask).size(), 1000u);
}

} // namespace
} // namespace lanner
