// Parameters of the GPU's box kernels. Running the kernels needs a GPU: cuda_kernels_test.cpp.

#include <gtest/gtest.h>

#include <cstdint>

#include "backends/cuda/divisor.h"
#include "backends/movement/box_plan.h"
#include "backends/reduction/row_parameters.h"

namespace lanner::cuda {
namespace {

TEST(Divisor, divides_every_number_below_its_limit) {
  const std::int64_t divisors[] = {1,   2,   3,    5,     7,     8,       49,
                                   197, 768, 1000, 65535, 65537, 1 << 30, divisor_limit - 1};
  for (const std::int64_t divisor : divisors) {
    const Divisor by = divisor_of(divisor);
    const auto expect = [&](std::int64_t number) {
      if (number < 0 || number >= divisor_limit) return;
      ASSERT_EQ(by.quotient(static_cast<std::uint32_t>(number)), number / divisor)
          << number << " / " << divisor;
    };
    for (std::int64_t number = 0; number < 100'000; ++number) expect(number);
    for (std::int64_t multiple = divisor; multiple < divisor_limit;
         multiple += (divisor_limit / 9973 / divisor + 1) * divisor)
      for (const std::int64_t off : {-1, 0, 1}) expect(multiple + off);
    for (std::int64_t number = divisor_limit - 1000; number < divisor_limit; ++number) expect(number);
  }
}

TEST(BoxPlan, neighbours_are_moved_at_once_where_both_sides_allow) {
  const Box dense{{4, 64}, {128, 1}, {64, 1}};
  EXPECT_EQ(elements_at_once(dense, 8), 8);
  EXPECT_EQ(elements_at_once({{4, 60}, {128, 1}, {64, 1}}, 8), 4);
  EXPECT_EQ(elements_at_once({{4, 63}, {128, 1}, {64, 1}}, 8), 1);
  EXPECT_EQ(elements_at_once({{4, 64}, {126, 1}, {64, 1}}, 8), 2);
  EXPECT_EQ(elements_at_once({{4, 64}, {128, 1}, {64, 1}, 2, 0}, 8), 2);
  EXPECT_EQ(elements_at_once({{4, 64}, {128, 2}, {64, 1}}, 8), 1);
  EXPECT_EQ(elements_at_once({{4, 64}, {128, -1}, {64, 1}}, 8), 1);
  EXPECT_EQ(elements_at_once({}, 8), 1);
  const Box grouped = in_groups({{4, 64}, {128, 1}, {64, 1}, 16, 8}, 8);
  EXPECT_EQ(grouped.sizes, (std::vector<std::int64_t>{4, 8}));
  EXPECT_EQ(grouped.source_strides, (std::vector<std::int64_t>{16, 1}));
  EXPECT_EQ(grouped.target_strides, (std::vector<std::int64_t>{8, 1}));
  EXPECT_EQ(grouped.source_offset, 2);
  EXPECT_EQ(grouped.target_offset, 1);
}

TEST(BoxPlan, lines_of_tiles_are_moved_in_groups_where_both_sides_allow) {
  // [2, 64, 40] -> [2, 40, 64]
  const Box box{{2, 40, 64}, {2560, 1, 40}, {2560, 64, 1}};
  EXPECT_EQ(tile_group(box, 8), 8);
  EXPECT_EQ(tile_group(box, 4), 4);
  EXPECT_EQ(tile_group({{2, 36, 64}, {2304, 1, 36}, {2304, 64, 1}}, 8), 4);
  EXPECT_EQ(tile_group({{2, 49, 64}, {3136, 1, 49}, {3136, 64, 1}}, 8), 1);
  EXPECT_EQ(tile_group({{2, 40, 64}, {2560, 1, 40}, {2560, 66, 1}}, 8), 2);
  EXPECT_EQ(tile_group({{2, 40, 64}, {2560, 1, 40}, {2560, 64, 1}, 4, 0}, 8), 4);
}

TEST(BoxPlan, sides_that_are_dense_along_different_axes_are_moved_in_tiles) {
  // [3, 70, 40] -> [3, 40, 70]
  const auto tiles = tile_parameters({{3, 40, 70}, {2800, 1, 40}, {2800, 70, 1}}, 32);
  ASSERT_TRUE(tiles.has_value());
  EXPECT_EQ(tiles->rows, 40);
  EXPECT_EQ(tiles->columns, 70);
  EXPECT_EQ(tiles->row_target, 70);
  EXPECT_EQ(tiles->column_source, 40);
  EXPECT_EQ(tiles->row_tiles, 2);
  EXPECT_EQ(tiles->column_tiles, 3);
  EXPECT_EQ(tiles->outer.elements, 3);
  EXPECT_EQ(tiles->outer.rank, 1);
  EXPECT_FALSE(tile_parameters({{3, 40, 70}, {2800, 70, 1}, {2800, 70, 1}}, 32))
      << "dense along the same axis";
  EXPECT_FALSE(tile_parameters({{40, 3}, {1, 40}, {3, 1}}, 32)) << "three columns";
  EXPECT_FALSE(tile_parameters({{40, 70}, {2, 80}, {70, 1}}, 32)) << "a source that is dense along no axis";
}

TEST(RowParameters, pixels_of_images_stored_channels_last_are_columns) {
  const Shape image{2, 24, 7, 5};
  const Layout last = Layout::channels_last(4);
  for (const bool keeps : {true, false}) {
    const StoredShape result =
        keeps ? StoredShape{Shape{2, 24, 1, 1}, last} : StoredShape{Shape{2, 24}, Layout{}};
    const RowParameters p = row_parameters({{2, 3}, false}, {image, last}, result);
    EXPECT_EQ(p.inner, 1) << "height and width are one axis";
    EXPECT_FALSE(dense_rows(p, 2, false));
    const auto columns = dense_columns(p, 2);
    ASSERT_TRUE(columns.has_value());
    EXPECT_EQ(columns->length, 35);
    EXPECT_EQ(columns->columns, 24);
    EXPECT_EQ(columns->step, 24);
    EXPECT_EQ(columns->target_step, 1);
    EXPECT_EQ(columns->outer.elements, 2);
  }
  const RowParameters softmax = row_parameters({{3}, true}, {image, Layout{}}, {image, Layout{}});
  EXPECT_EQ(softmax.inner_target[0], 1);
  EXPECT_TRUE(dense_rows(softmax, 2, true));
}

} // namespace
} // namespace lanner::cuda
