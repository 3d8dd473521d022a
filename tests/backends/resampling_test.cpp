#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/resampling/tap_sums.h"
#include "backends/tactic_check.h"
#include "device/cpu.h"

namespace lanner {
namespace {

using Sizes = std::vector<std::int64_t>;

/// `body` computes `%v`, the image, from random `%x`.
std::set<std::string> check_resize(const Sizes& from, const Sizes& to, const std::string& attributes,
                                   int threads = 2, const std::string& body = "%v: f32[*] = identity(%x)") {
  SCOPED_TRACE(fmt::format("{} to {} {{{}}}", from, to, attributes));
  return check_tactics(fmt::format("graph @g(%x: f32[{}]) -> (%y: f32[*] as \"y\") {{\n{}\n%s: i64[{}] = "
                                   "constant() {{value = i64[{}]({})}}\n%y: f32[*] = resize(%v, _, _, %s) "
                                   "{{{}}}\n}}",
                                   fmt::join(from, ", "), body, to.size(), to.size(), fmt::join(to, ", "),
                                   attributes),
                       {.threads = threads, .tolerance = 2e-6});
}
void expect_resized(const Sizes& from, const Sizes& to, const std::string& attributes, int threads = 2,
                    const std::string& body = "%v: f32[*] = identity(%x)") {
  EXPECT_TRUE(check_resize(from, to, attributes, threads, body).contains("cpu/taps"))
      << fmt::format("{} to {} {{{}}}", from, to, attributes);
}

struct Resized {
  Sizes from, to;
};
void PrintTo(const Resized& c, std::ostream* out) {
  *out << fmt::format("{} to {}", c.from, c.to);
}

class Resizes : public testing::TestWithParam<Resized> {};

TEST_P(Resizes, agree_with_the_reference) {
  for (const char* place : {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                            "asymmetric", "tf_crop_and_resize"})
    for (const char* mode :
         {"mode = \"linear\"", "mode = \"linear\", antialias = 1", "mode = \"cubic\"",
          "mode = \"cubic\", antialias = 1", "mode = \"cubic\", exclude_outside = 1, cubic_coeff_a = -0.5",
          "nearest_mode = \"floor\"", "nearest_mode = \"ceil\"", "nearest_mode = \"round_prefer_ceil\"",
          "nearest_mode = \"round_prefer_floor\""})
      expect_resized(GetParam().from, GetParam().to,
                     fmt::format("{}, coordinate_transformation_mode = \"{}\"", mode, place));
}

const Resized resized[] = {
    {{1, 1, 5}, {1, 1, 9}},
    {{2, 3, 77}, {2, 3, 31}},
    {{8, 17, 40}, {8, 17, 131}},
    {{1, 2, 6, 7}, {1, 2, 48, 56}},
    {{2, 3, 8, 9}, {2, 3, 5, 19}},
    {{1, 19, 9, 5}, {1, 19, 4, 3}},
    {{1, 133, 3, 4}, {1, 133, 5, 5}},
    {{8, 16, 2, 3}, {8, 16, 3, 7}},
    {{1, 3, 37, 41}, {1, 3, 70, 18}},
    {{2, 70, 6, 6}, {2, 70, 13, 12}},
    {{1, 2, 3, 4, 5}, {1, 2, 7, 5, 9}},
    {{2, 17, 5, 3, 6}, {2, 17, 3, 3, 4}},
};
INSTANTIATE_TEST_SUITE_P(cases, Resizes, testing::ValuesIn(resized));

const char* const aligned = "mode = \"linear\", coordinate_transformation_mode = \"align_corners\"";

TEST(Taps, by_any_number_of_threads) {
  for (const int threads : {1, 3, 16}) {
    expect_resized({1, 40, 60, 50}, {1, 40, 71, 101}, aligned, threads);
    expect_resized({1, 1, 3000}, {1, 1, 65001}, "mode = \"cubic\"", threads);
  }
}

// Several pieces each.
TEST(Taps, of_large_slabs) {
  expect_resized({1, 3, 70, 90}, {1, 3, 300, 701}, aligned);
  expect_resized({1, 33, 40, 60}, {1, 33, 90, 131}, "mode = \"cubic\"");
  expect_resized({1, 2, 9, 30, 40}, {1, 2, 20, 60, 90}, "mode = \"cubic\"");
}

// Channels and batch too; short rows; an unchanged axis in between.
TEST(Taps, along_any_axes) {
  expect_resized({5}, {9}, "mode = \"linear\"");
  expect_resized({7, 9}, {14, 4}, "mode = \"cubic\"");
  expect_resized({2, 3, 7, 9}, {2, 6, 7, 9}, "mode = \"linear\"");
  expect_resized({2, 9, 7, 3}, {2, 19, 17, 3}, "mode = \"linear\"");
  expect_resized({2, 9, 7, 64}, {2, 19, 17, 64}, "mode = \"linear\"");
  expect_resized({3, 4, 7, 9}, {5, 4, 7, 9}, "mode = \"linear\"");
  expect_resized({2, 4, 7, 5, 9}, {2, 4, 15, 5, 11}, "mode = \"linear\"");
  expect_resized({2, 3, 7, 9}, {2, 6, 15, 5}, "mode = \"linear\"");
}

// A tap of weight 0 turns infinity into NaN; an element that is no tap must not.
TEST(Taps, of_nan_elements) {
  for (const char* body : {"%v: f32[*] = sqrt(%x)", "%z: f32[*] = relu(%x)\n%v: f32[*] = reciprocal(%z)"})
    for (const char* mode : {aligned, "mode = \"cubic\"", "mode = \"linear\", antialias = 1", ""})
      for (const std::int64_t channels : {2, 16, 33})
        expect_resized({2, channels, 7, 9}, {2, channels, 13, 25}, mode, 2, body);
}

TEST(Taps, rejects_other_types_and_extrapolation) {
  EXPECT_FALSE(check_tactics("graph @g(%x: f64[1, 2, 3, 2]) -> (%y: f64[*] as \"y\") {\n%s: i64[4] = "
                             "constant() {value = i64[4](1, 2, 5, 5)}\n%y: f64[*] = resize(%x, _, _, %s)\n}")
                   .contains("cpu/taps"));
  EXPECT_FALSE(check_tactics("graph @g(%x: f32[1, 2]) -> (%y: f32[*] as \"y\") {\n%r: f32[4] = constant() "
                             "{value = f32[4](0, -0.5, 1, 1.5)}\n%s: i64[2] = constant() {value = "
                             "i64[2](1, 5)}\n%y: f32[*] = resize(%x, %r, _, %s) "
                             "{coordinate_transformation_mode = \"tf_crop_and_resize\"}\n}")
                   .contains("cpu/taps"));
  EXPECT_FALSE(check_resize({2, 2, 2, 2, 2}, {3, 2, 2, 2, 3}, "mode = \"linear\"").contains("cpu/taps"));
}

std::vector<const TapSumFunctions*> tap_sums_of_this_cpu() {
  std::vector<const TapSumFunctions*> list{&tap_sum_functions_baseline()};
  if (cpu_features().has_avx2()) list.push_back(&tap_sum_functions_avx2());
  if (cpu_features().has_avx512()) list.push_back(&tap_sum_functions_avx512());
  return list;
}

/// Up to `most` taps for each of `count` results, near the position that the scale gives; some have none.
ops::ResampledAxis random_axis(std::mt19937& random, std::int64_t size, std::int64_t count, unsigned most) {
  ops::ResampledAxis axis{0, {0}, {}, {}};
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t around = i * size / count;
    for (auto t = static_cast<std::int64_t>(random() % (most + 1)); t > 0; --t) {
      axis.indices.push_back(static_cast<std::int32_t>(std::min<std::int64_t>(size - 1, around + t)));
      axis.weights.push_back(std::normal_distribution<float>()(random));
    }
    axis.begins.push_back(static_cast<std::int32_t>(axis.indices.size()));
  }
  return axis;
}

/// Results `first` up to `last` along an axis, each a row of `inner`; lines if `inner` is 1.
void expect_sums(const TapSumFunctions& functions, std::int64_t size, std::int64_t count, std::int64_t inner,
                 unsigned most) {
  std::mt19937 random(static_cast<std::uint32_t>(size * 10000 + count * 100 + inner));
  const ops::ResampledAxis axis = random_axis(random, size, count, most);
  const std::int64_t lines = inner == 1 ? 2 : 1, first = count > functions.lanes ? functions.lanes : 0;
  std::vector<float> image(static_cast<std::size_t>(lines * size * inner));
  for (float& value : image) value = std::normal_distribution<float>()(random);
  // Memory after the last result is unchanged.
  const std::int64_t results = lines * (count - first) * inner;
  std::vector<float> found(static_cast<std::size_t>(results + 1), 123);
  if (inner == 1)
    functions.lines(TapLineLists(axis, size, functions.lanes).line(), first, count, image.data(),
                    found.data(), lines);
  else
    functions.rows({axis.begins.data(), axis.indices.data(), axis.weights.data()}, first, count, 0,
                   image.data(), inner, found.data());
  for (std::int64_t r = 0; r < results; ++r) {
    const std::int64_t line = r / ((count - first) * inner), i = r / inner % (count - first) + first;
    double expected = 0;
    for (auto t = static_cast<std::size_t>(axis.begins[static_cast<std::size_t>(i)]);
         t < static_cast<std::size_t>(axis.begins[static_cast<std::size_t>(i) + 1]); ++t)
      expected += static_cast<double>(axis.weights[t]) *
                  image[static_cast<std::size_t>((line * size + axis.indices[t]) * inner + r % inner)];
    ASSERT_NEAR(found[static_cast<std::size_t>(r)], expected, 2e-5) << "result " << r;
  }
  EXPECT_EQ(found.back(), 123);
}

TEST(Taps, sums_in_every_instruction_set) {
  for (const TapSumFunctions* functions : tap_sums_of_this_cpu())
    for (const std::int64_t size : {1, 2, 7, 16, 33, 100})
      for (const std::int64_t count : {1, 3, 8, 16, 17, 50, 133})
        for (const std::int64_t inner : {1, 2, 7, 16, 31, 64, 101})
          for (const unsigned most : {1U, 2U, 5U}) {
            SCOPED_TRACE(fmt::format("{} lanes, {} of {}, rows of {}, {} taps", functions->lanes, count, size,
                                     inner, most));
            expect_sums(*functions, size, count, inner, most);
          }
}

} // namespace
} // namespace lanner
