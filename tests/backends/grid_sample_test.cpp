#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include <fmt/format.h>

#include "backends/resampling/samples.h"
#include "backends/tactic_check.h"
#include "device/cpu.h"

namespace lanner {
namespace {

/// `body` computes `%g` and `%v`, the grid and the image, from random `%r` and `%x`.
void expect_sampled(const std::string& x, const std::string& grid, const std::string& mode, int threads = 2,
                    const std::string& body = "%g: f32[*] = identity(%r)\n%v: f32[*] = identity(%x)") {
  for (const char* padding : {"zeros", "border", "reflection"})
    for (const int align : {0, 1}) {
      const auto ran = check_tactics(
          fmt::format("graph @g(%x: f32{}, %r: f32{}) -> (%y: f32[*] as \"y\") {{\n{}\n%y: f32[*] = "
                      "grid_sample(%v, %g) {{mode = \"{}\", padding_mode = \"{}\", align_corners = {}}}\n}}",
                      x, grid, body, mode, padding, align),
          {.threads = threads, .tolerance = 2e-6});
      EXPECT_TRUE(ran.contains("cpu/grid_sample"));
    }
}

struct Sampled {
  std::string x, grid;
};
void PrintTo(const Sampled& c, std::ostream* out) {
  *out << c.x << " at " << c.grid;
}

class GridSamples : public testing::TestWithParam<Sampled> {};

TEST_P(GridSamples, agree_with_the_reference) {
  for (const char* mode : {"nearest", "linear", "cubic"}) expect_sampled(GetParam().x, GetParam().grid, mode);
}

const Sampled sampled[] = {
    {"[1, 1, 5]", "[1, 9, 1]"},
    {"[2, 3, 7]", "[2, 300, 1]"},
    {"[1, 1, 1, 1]", "[1, 3, 3, 2]"},
    {"[1, 3, 8, 9]", "[1, 31, 33, 2]"},
    {"[2, 19, 5, 7]", "[2, 6, 11, 2]"},
    {"[1, 133, 3, 4]", "[1, 1, 5, 2]"},
    {"[8, 16, 2, 1]", "[8, 1, 1, 2]"},
    {"[128, 1, 4, 5]", "[128, 7, 7, 2]"},
    {"[2, 70, 6, 6]", "[2, 16, 16, 2]"},
    {"[1, 2, 3, 4, 5]", "[1, 5, 6, 7, 3]"},
    {"[2, 17, 2, 3, 2]", "[2, 3, 1, 7, 3]"},
};
INSTANTIATE_TEST_SUITE_P(cases, GridSamples, testing::ValuesIn(sampled));

TEST(GridSample, by_any_number_of_threads) {
  for (const int threads : {1, 3, 16}) expect_sampled("[1, 40, 6, 5]", "[1, 30, 11, 2]", "linear", threads);
}

TEST(GridSample, at_nan_and_distant_positions) {
  for (const char* body :
       {"%g: f32[*] = sqrt(%r)\n%v: f32[*] = identity(%x)", "%g: f32[*] = log(%r)\n%v: f32[*] = identity(%x)",
        "%s: f32[*] = relu(%r)\n%g: f32[*] = reciprocal(%s)\n%v: f32[*] = identity(%x)",
        "%s: f32[*] = mul(%r, %r)\n%t: f32[*] = mul(%s, %s)\n%u: f32[*] = mul(%t, %t)\n"
        "%w: f32[*] = mul(%u, %u)\n%g: f32[*] = mul(%w, %w)\n%v: f32[*] = identity(%x)"})
    for (const char* mode : {"nearest", "linear", "cubic"})
      expect_sampled("[2, 5, 6, 5]", "[2, 11, 13, 2]", mode, 2, body);
}

// A tap of weight 0 reads nothing: no NaN or infinity from a neighbour that the position does not need.
TEST(GridSample, of_nan_elements) {
  for (const char* image : {"%v: f32[*] = sqrt(%x)", "%z: f32[*] = relu(%x)\n%v: f32[*] = reciprocal(%z)"})
    for (const char* grid : {"%g: f32[*] = identity(%r)\n", "%g: f32[*] = round(%r)\n"})
      for (const char* mode : {"nearest", "linear", "cubic"})
        expect_sampled("[2, 5, 3, 5]", "[2, 11, 13, 2]", mode, 2, std::string(grid) + image);
}

TEST(GridSample, takes_three_spatial_dims_at_most_and_f32_only) {
  EXPECT_FALSE(check_tactics("graph @g(%x: f32[1, 2, 3, 2, 3, 2], %g: f32[1, 2, 2, 2, 2, 4]) -> (%y: f32[*] "
                             "as \"y\") {\n%y: f32[*] = grid_sample(%x, %g)\n}")
                   .contains("cpu/grid_sample"));
  EXPECT_FALSE(check_tactics("graph @g(%x: f32[1, 2, 3, 2], %g: f64[1, 2, 2, 2]) -> (%y: f32[*] as \"y\") "
                             "{\n%y: f32[*] = grid_sample(%x, %g)\n}")
                   .contains("cpu/grid_sample"));
}

std::vector<const SampleFunctions*> samples_of_this_cpu() {
  std::vector<const SampleFunctions*> list{&sample_functions_baseline()};
  if (cpu_features().has_avx2()) list.push_back(&sample_functions_avx2());
  if (cpu_features().has_avx512()) list.push_back(&sample_functions_avx512());
  return list;
}

/// Lists of taps along one axis of `size` elements, every third of weight 0.
struct RandomTaps {
  static constexpr std::int64_t stride = 48;
  std::vector<std::int32_t> places;
  std::vector<float> weights;

  /// For `count` samples, in lists with room for `room` taps.
  RandomTaps(std::mt19937& random, std::int64_t taps, std::int64_t count, std::int32_t size,
             std::int64_t room)
      : places(static_cast<std::size_t>(room * stride)), weights(places.size()) {
    for (std::int64_t t = 0; t < taps; ++t)
      for (std::int64_t i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(t * stride + i);
        places[at] = static_cast<std::int32_t>(random() % static_cast<unsigned>(size));
        weights[at] = random() % 3 == 0 ? 0 : std::normal_distribution<float>()(random);
      }
  }
};

/// Element `place` of an image, of which every fourth is NaN.
std::vector<float> image_of(std::mt19937& random, std::int64_t elements, std::int64_t inner) {
  std::vector<float> image(static_cast<std::size_t>(elements * inner));
  for (float& value : image) value = std::normal_distribution<float>()(random);
  for (std::int64_t i = 0; i < elements; i += 4)
    for (std::int64_t c = 0; c < inner; ++c) image[static_cast<std::size_t>(i * inner + c)] = NAN;
  return image;
}

void expect_samples(const SampleFunctions& functions, std::int64_t taps, std::int64_t count,
                    std::int64_t inner) {
  constexpr std::int32_t height = 5, width = 7;
  constexpr std::int64_t stride = RandomTaps::stride;
  std::mt19937 random(static_cast<unsigned>(taps * 10000 + count * 100 + inner));
  const RandomTaps rows(random, taps, count, height, taps * taps), columns(random, taps, count, width, taps);
  RandomTaps joined = rows;
  RandomTaps axis = columns;
  const std::vector<float> image = image_of(random, height * width, inner);
  SampleTaps samples{joined.places.data(), joined.weights.data(), stride, taps, count};
  functions.join(samples, {axis.places.data(), axis.weights.data(), stride}, taps, width);
  ASSERT_EQ(samples.taps, taps * taps);
  // Memory after the last sample is unchanged.
  std::vector<float> found(static_cast<std::size_t>((count + 1) * inner), 123);
  if (inner == 1)
    functions.plane(samples, image.data(), found.data());
  else
    functions.pixels(samples, image.data(), inner, found.data());
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t c = 0; c < inner; ++c) {
      double expected = 0;
      for (std::int64_t t = 0; t < taps * taps; ++t) {
        const auto row = static_cast<std::size_t>(t / taps * stride + i),
                   column = static_cast<std::size_t>(t % taps * stride + i);
        const double weight = static_cast<double>(rows.weights[row]) * columns.weights[column];
        const std::int64_t place = rows.places[row] * width + columns.places[column];
        if (weight != 0) expected += weight * image[static_cast<std::size_t>(place * inner + c)];
      }
      const float got = found[static_cast<std::size_t>(i * inner + c)];
      EXPECT_TRUE(std::isnan(expected) ? std::isnan(got) : std::abs(got - expected) < 1e-5)
          << "channel " << c << " of sample " << i << " is " << got << ", expected " << expected;
    }
  for (std::int64_t c = 0; c < inner; ++c) EXPECT_EQ(found[static_cast<std::size_t>(count * inner + c)], 123);
}

TEST(GridSample, sums_taps_in_every_instruction_set) {
  for (const SampleFunctions* functions : samples_of_this_cpu())
    for (const std::int64_t taps : {1, 2, 4})
      for (const std::int64_t count : {1, 3, 4, 7, 8, 16, 17, 33, 47})
        for (const std::int64_t inner : {1, 2, 3, 4, 8, 13, 16, 31, 64, 101, 128}) {
          SCOPED_TRACE(fmt::format("{} taps, {} samples, {} channels", taps, count, inner));
          expect_samples(*functions, taps, count, inner);
        }
}

} // namespace
} // namespace lanner
