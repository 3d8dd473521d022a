#include <lanner/device.h>
#include <lanner/dtype.h>
#include <lanner/layout.h>

#include "expect_error.h"
#include "tensor/layout_offsets.h"

namespace lanner {
namespace {

TEST(DType, NamesRoundTrip) {
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const auto type = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(to_string(type)), type);
  }
  EXPECT_EQ(parse_dtype("float32"), DType::f32);
  EXPECT_EQ(parse_dtype("half"), DType::f16);
  EXPECT_EQ(parse_dtype("float8_e4m3fn"), DType::f8e4m3fn);
  LANNER_EXPECT_ERROR(parse_dtype("f33"), ErrorCode::invalid_argument, "\"f33\"");
  LANNER_EXPECT_ERROR(parse_dtype(""), ErrorCode::invalid_argument, "dtype");
}

TEST(DType, Families) {
  EXPECT_TRUE(is_integer(DType::u4) && !is_signed(DType::u4));
  EXPECT_TRUE(is_float(DType::f8e8m0) && !is_signed(DType::f8e8m0));
  EXPECT_FALSE(is_integer(DType::boolean));
  EXPECT_TRUE(is_complex(DType::c64) && !is_float(DType::c64));
  EXPECT_EQ(bit_width(DType::i2), 2u);
  EXPECT_EQ(bit_width(DType::string), 0u);
}

TEST(Device, ParsesAndPrints) {
  EXPECT_EQ(Device::parse("cpu"), Device{});
  EXPECT_EQ(Device::parse("cuda"), (Device{DeviceKind::cuda, 0}));
  EXPECT_EQ(Device::parse("cuda:12").to_string(), "cuda:12");
  for (const char* bad : {"gpu", "cuda:", "cuda:-1", "cuda:1x", "cuda:99999", ""})
    LANNER_EXPECT_ERROR(Device::parse(bad), ErrorCode::invalid_argument, "device");
}

TEST(Shape, CountsAndStrides) {
  EXPECT_EQ((Shape{2, 3, 4}).elements(), 24);
  EXPECT_EQ(Shape{}.elements(), 1);
  EXPECT_EQ((Shape{INT64_MAX, 4, 0}).elements(), 0);
  EXPECT_EQ((Shape{1, 3}).to_string(), "[1, 3]");
  EXPECT_EQ(dense_strides(Shape{2, 3, 4}), (std::vector<std::int64_t>{12, 4, 1}));
  LANNER_EXPECT_ERROR((Shape{INT64_MAX, 2}).elements(), ErrorCode::limit_exceeded, "shape");
  LANNER_EXPECT_ERROR((Shape{2, -1}).elements(), ErrorCode::invalid_argument, "-1");
}

TEST(Shape, Broadcasts) {
  const std::vector<Shape> fit{{3, 1, 5}, {4, 1}, {}};
  EXPECT_EQ(broadcast(fit), (Shape{3, 4, 5}));
  const std::vector<Shape> empty{{0, 1}, {1, 4}};
  EXPECT_EQ(broadcast(empty), (Shape{0, 4}));
  const std::vector<Shape> clash{{3, 4}, {2, 1, 5}};
  LANNER_EXPECT_ERROR(broadcast(clash), ErrorCode::invalid_argument, "[2, 1, 5]");
}

TEST(Layout, TextRoundTrips) {
  for (const char* text : {"row", "acdb", "aBcd16b", "ABcd16b16a", "ABcd4b16a4b", "ba"})
    EXPECT_EQ(Layout::parse(text).to_string(), text);
  EXPECT_EQ(Layout::parse("abcd"), Layout{});
  EXPECT_EQ(Layout::parse("acdb"), Layout::channels_last(4));
  EXPECT_EQ(Layout::parse("aBcd16b"), Layout::channels_blocked(4, 16));
  EXPECT_TRUE(Layout::channels_last(2).row_major());
}

TEST(Layout, RefusesBadText) {
  for (const char* bad : {"", "aa", "ac", "aBcd", "abcd16b", "aBcd16", "aBcd1b", "aBcd99999b", "aBcd16e",
                          "16b", "aBcd16B", "a b", "row4"})
    LANNER_EXPECT_ERROR(Layout::parse(bad), ErrorCode::bad_data, "layout");
}

TEST(Layout, CountsPaddedBytes) {
  const Layout blocked = Layout::parse("aBcd16b");
  EXPECT_EQ(blocked.padded(Shape{1, 17, 2, 3}), (Shape{1, 32, 2, 3}));
  EXPECT_EQ(blocked.bytes(Shape{1, 17, 2, 3}, DType::f32), 32u * 6 * 4);
  EXPECT_EQ(Layout{}.bytes(Shape{3}, DType::i4), 2u);
  EXPECT_EQ(Layout{}.bytes(Shape{5}, DType::u2), 2u);
  EXPECT_EQ(Layout{}.bytes(Shape{0, 7}, DType::f32), 0u);
  EXPECT_EQ(Layout::channels_last(4).strides(Shape{2, 3, 4, 5}), (std::vector<std::int64_t>{60, 1, 15, 3}));
  LANNER_EXPECT_ERROR(blocked.strides(Shape{1, 16, 2, 3}), ErrorCode::invalid_argument, "strides");
  LANNER_EXPECT_ERROR(blocked.bytes(Shape{1, 16}, DType::f32), ErrorCode::invalid_argument, "rank 2");
  LANNER_EXPECT_ERROR(Layout{}.bytes(Shape{1ll << 61, 2}, DType::f32), ErrorCode::limit_exceeded, "tensor");
}

// Checks the documented order of ABcd4b16a4b by hand: outer A, B, c, d, then 4b, 16a, 4b.
TEST(Layout, OffsetsOfNestedBlocks) {
  const Shape shape{20, 18, 2, 3};
  const LayoutOffsets offsets(Layout::parse("ABcd4b16a4b"), shape);
  const auto at = [&](std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
    return offsets.offset(0, a) + offsets.offset(1, b) + offsets.offset(2, c) + offsets.offset(3, d);
  };
  EXPECT_EQ(at(0, 1, 0, 0), 1);
  EXPECT_EQ(at(1, 0, 0, 0), 4);
  EXPECT_EQ(at(0, 4, 0, 0), 64);
  EXPECT_EQ(at(0, 0, 0, 1), 256);
  EXPECT_EQ(at(0, 0, 1, 0), 3 * 256);
  EXPECT_EQ(at(0, 16, 0, 0), 6 * 256);
  EXPECT_EQ(at(16, 0, 0, 0), 2 * 6 * 256);
  EXPECT_EQ(at(17, 5, 1, 2), 2 * 6 * 256 + 5 * 256 + 64 + 4 + 1);
}

} // namespace
} // namespace lanner
