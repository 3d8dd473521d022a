#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "expect_error.h"
#include "video/read/image_pool.h"

namespace lanner {

TEST(ImagePool, MemoryComesBackWhenTheLastCopyDies) {
  ImagePool pool;
  Image first = pool.take(PixelFormat::rgb24, 64, 48, {}, {});
  const std::byte* memory = first.planes[0].data;
  Image copy = first;
  first = {};
  EXPECT_NE(pool.take(PixelFormat::rgb24, 64, 48, {}, {}).planes[0].data, memory);
  copy = {};
  const Image again = pool.take(PixelFormat::rgb24, 64, 48, {}, {});
  EXPECT_EQ(again.planes[0].data, memory);
  EXPECT_EQ(again.color, ColorInfo{});
}

TEST(ImagePool, AnotherFormGetsItsOwnMemory) {
  ImagePool pool;
  pool.take(PixelFormat::rgb24, 64, 48, {}, {});
  const Image other = pool.take(PixelFormat::nv12, 64, 48, {}, {});
  EXPECT_EQ(other.format, PixelFormat::nv12);
  EXPECT_EQ(other.planes[1].height, 24);
}

TEST(ImagePool, WhatIsHeldCountsInTheLimit) {
  ImagePool pool;
  Limits limits;
  limits.total_bytes = 3 * 64 * 48;
  std::vector<Image> held;
  for (int i = 0; i < 3; ++i) held.push_back(pool.take(PixelFormat::gray8, 64, 48, limits, {}));
  LANNER_EXPECT_ERROR(
      pool.take(PixelFormat::gray8, 64, 48, limits, {}), ErrorCode::limit_exceeded,
      "the limit total_bytes of 9216; let go of some, or raise it with --limit total_bytes=N");
  held.pop_back();
  EXPECT_TRUE(pool.take(PixelFormat::gray8, 64, 48, limits, {}).defined());
}

TEST(ImagePool, ImagesOutliveIt) {
  auto pool = std::make_unique<ImagePool>();
  std::vector<Image> held;
  for (int i = 0; i < 20; ++i) held.push_back(pool->take(PixelFormat::gray8, 100, 10, {}, {}));
  pool.reset();
  const auto fill = [](Image& image, int value) {
    for (int row = 0; row < 10; ++row)
      std::memset(image.planes[0].data + row * image.planes[0].pitch, value, 100);
  };
  for (int i = 0; i < 20; ++i) fill(held[static_cast<std::size_t>(i)], i);
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(held[static_cast<std::size_t>(i)].planes[0].data[99], static_cast<std::byte>(i))
        << "image " << i;
}

} // namespace lanner
