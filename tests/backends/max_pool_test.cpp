#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "backends/pooling/maxima.h"
#include "backends/tactic_check.h"
#include "device/cpu.h"

namespace lanner {
namespace {

struct Case {
  const char *shape, *attributes;
};

class MaxPool : public testing::TestWithParam<Case> {};

TEST_P(MaxPool, agrees_with_the_definition) {
  TacticCheck check;
  check.precisions = {DType::f32, DType::bf16};
  for (const char* type : {"i8", "u8", "f32", "bf16"}) {
    const auto ran = check_tactics(
        fmt::format("graph @g(%x: {0}{1}) -> (%y: {0}[*] as \"y\") {{\n%y: {0}[*] = max_pool(%x) {{{2}}}\n}}",
                    type, GetParam().shape, GetParam().attributes),
        check);
    EXPECT_TRUE(ran.contains("cpu/max_pool")) << type;
  }
}

INSTANTIATE_TEST_SUITE_P(
    windows, MaxPool,
    testing::Values(Case{"[2, 19, 11, 13]", "kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]"},
                    Case{"[1, 64, 14, 14]", "kernel_shape = [2, 2], strides = [2, 2]"},
                    Case{"[1, 3, 9, 40]", "kernel_shape = [5, 5], pads = [2, 2, 2, 2]"},
                    Case{"[1, 70, 8, 9]", "kernel_shape = [2, 3], dilations = [2, 3], pads = [1, 0, 0, 4]"},
                    Case{"[1, 5, 7, 7]", "kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1"},
                    Case{"[1, 5, 3, 3]",
                         "kernel_shape = [2, 2], pads = [3, 3, 3, 3]"}, // windows of padding alone
                    Case{"[2, 33, 50]", "kernel_shape = [4], strides = [3], auto_pad = \"SAME_UPPER\""},
                    Case{"[1, 1, 1, 1]", "kernel_shape = [1, 1]"}));

TEST(MaxPoolKinds, leaves_indices_and_volumes_to_the_definition) {
  expect_refused(check_tactics("graph @g(%x: u8[1, 2, 4, 4]) -> (%y, %i) {\n%y: u8[*], %i: i64[*] = "
                               "max_pool(%x) {kernel_shape = [2, 2]}\n}"),
                 {"cpu/max_pool"});
  expect_refused(check_tactics("graph @g(%x: u8[1, 2, 4, 4, 4]) -> (%y: u8[*] as \"y\") {\n%y: u8[*] = "
                               "max_pool(%x) {kernel_shape = [2, 2, 2]}\n}"),
                 {"cpu/max_pool"});
}

std::vector<MaximaFunctions> sets_of_this_cpu() {
  std::vector<MaximaFunctions> sets{maxima_baseline()};
  if (cpu_features().has_avx2()) sets.push_back(maxima_avx2());
  if (cpu_features().has_avx512()) sets.push_back(maxima_avx512());
  return sets;
}

/// Two rows of `size` elements for each of three pixels, and the results with one element behind them.
template<typename T>
std::vector<T> found_by(Maxima maxima, const std::vector<T>& a, const std::vector<T>& b, std::int64_t size,
                        std::int64_t step, T behind) {
  std::vector<T> found(static_cast<std::size_t>(3 * size) + 1, behind);
  const std::byte* rows[] = {reinterpret_cast<const std::byte*>(a.data()),
                             reinterpret_cast<const std::byte*>(b.data())};
  maxima(rows, 2, reinterpret_cast<std::byte*>(found.data()), {size, 3, step});
  return found;
}

template<typename T>
void expect_largest(Maxima maxima) {
  for (std::int64_t size = 1; size < 150; ++size) {
    const std::int64_t step = size + 5;
    std::vector<T> a, b;
    for (std::int64_t i = 0; i < 3 * step; ++i) {
      a.push_back(static_cast<T>(i * 53));
      b.push_back(static_cast<T>(200 - i * 31));
    }
    const std::vector<T> found = found_by<T>(maxima, a, b, size, step, 77);
    for (std::int64_t p = 0; p < 3; ++p)
      for (std::int64_t i = 0; i < size; ++i) {
        const auto at = static_cast<std::size_t>(p * step + i);
        ASSERT_EQ(found[static_cast<std::size_t>(p * size + i)], std::max(a[at], b[at])) << size;
      }
    ASSERT_EQ(found.back(), static_cast<T>(77));
  }
}

TEST(Maxima, agree_for_every_instruction_set) {
  for (const MaximaFunctions& functions : sets_of_this_cpu()) {
    expect_largest<std::int8_t>(functions.of_i8);
    expect_largest<std::uint8_t>(functions.of_u8);
    expect_largest<float>(functions.of_f32);
  }
}

float number_of(std::uint16_t bf16) {
  const std::uint32_t bits = static_cast<std::uint32_t>(bf16) << 16;
  float number = 0;
  std::memcpy(&number, &bits, sizeof(number));
  return number;
}

bool is_largest(float found, float a, float b) {
  return std::isnan(a) || std::isnan(b) ? std::isnan(found) : found == std::max(a, b);
}

// Each number of bf16 beside twenty others: NaN of both signs, infinities and zeros among them.
TEST(Maxima, of_bf16_are_right_for_every_number) {
  const std::vector<std::uint16_t> others{0,      0x8000, 1,      0x8001, 0x7f7f, 0xff7f, 0x7f80,
                                          0xff80, 0x7f81, 0xff81, 0x7fff, 0xffff, 0x3f80, 0xbf80,
                                          0x4049, 0xc049, 0x0080, 0x8080, 0x7fc0, 0xffc0};
  for (const MaximaFunctions& functions : sets_of_this_cpu())
    for (const std::uint16_t other : others) {
      constexpr std::int64_t size = 0x10000 / 3 + 1; // Three pixels.
      std::vector<std::uint16_t> a, b(3 * size, other);
      for (std::int64_t i = 0; i < 3 * size; ++i) a.push_back(static_cast<std::uint16_t>(i));
      const std::vector<std::uint16_t> found =
          found_by<std::uint16_t>(functions.of_bf16, a, b, size, size, 77);
      for (std::size_t i = 0; i < a.size(); ++i)
        ASSERT_TRUE(is_largest(number_of(found[i]), number_of(a[i]), number_of(other)))
            << a[i] << " " << other;
    }
}

TEST(Maxima, of_floats_with_a_nan_are_nan) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  for (const MaximaFunctions& functions : sets_of_this_cpu())
    for (const float other : {0.0F, -1.0F, infinity, -infinity, nan, -nan})
      for (const float one : {nan, -nan})
        for (int order = 0; order < 2; ++order) {
          std::vector<float> a(3 * 20, one), b(3 * 20, other);
          if (order == 1) std::swap(a, b);
          const std::vector<float> found = found_by<float>(functions.of_f32, a, b, 20, 20, 77);
          for (std::size_t i = 0; i < a.size(); ++i) ASSERT_TRUE(std::isnan(found[i]));
        }
}

} // namespace
} // namespace lanner
