#include <gtest/gtest.h>

#include <vector>

#include <fmt/format.h>

#include "backends/pooling/byte_maxima.h"
#include "backends/tactic_check.h"
#include "device/cpu.h"

namespace lanner {
namespace {

struct Case {
  const char *shape, *attributes;
};

class MaxPoolOfBytes : public testing::TestWithParam<Case> {};

TEST_P(MaxPoolOfBytes, agrees_with_the_definition) {
  for (const char* type : {"i8", "u8"}) {
    const auto ran = check_tactics(
        fmt::format("graph @g(%x: {0}{1}) -> (%y: {0}[*] as \"y\") {{\n%y: {0}[*] = max_pool(%x) {{{2}}}\n}}",
                    type, GetParam().shape, GetParam().attributes));
    EXPECT_TRUE(ran.contains("cpu/max_pool")) << type;
  }
}

INSTANTIATE_TEST_SUITE_P(
    windows, MaxPoolOfBytes,
    testing::Values(Case{"[2, 19, 11, 13]", "kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]"},
                    Case{"[1, 64, 14, 14]", "kernel_shape = [2, 2], strides = [2, 2]"},
                    Case{"[1, 3, 9, 40]", "kernel_shape = [5, 5], pads = [2, 2, 2, 2]"},
                    Case{"[1, 70, 8, 9]", "kernel_shape = [2, 3], dilations = [2, 3], pads = [1, 0, 0, 4]"},
                    Case{"[1, 5, 7, 7]", "kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1"},
                    Case{"[1, 5, 3, 3]",
                         "kernel_shape = [2, 2], pads = [3, 3, 3, 3]"}, // windows of padding alone
                    Case{"[2, 33, 50]", "kernel_shape = [4], strides = [3], auto_pad = \"SAME_UPPER\""},
                    Case{"[1, 1, 1, 1]", "kernel_shape = [1, 1]"}));

TEST(MaxPoolOfBytes, leaves_indices_and_volumes_to_the_definition) {
  expect_refused(check_tactics("graph @g(%x: u8[1, 2, 4, 4]) -> (%y, %i) {\n%y: u8[*], %i: i64[*] = "
                               "max_pool(%x) {kernel_shape = [2, 2]}\n}"),
                 {"cpu/max_pool"});
  expect_refused(check_tactics("graph @g(%x: u8[1, 2, 4, 4, 4]) -> (%y: u8[*] as \"y\") {\n%y: u8[*] = "
                               "max_pool(%x) {kernel_shape = [2, 2, 2]}\n}"),
                 {"cpu/max_pool"});
}

TEST(ByteMaxima, agree_for_every_instruction_set) {
  std::vector<ByteMaximaFunctions> sets{byte_maxima_baseline()};
  if (cpu_features().has_avx2()) sets.push_back(byte_maxima_avx2());
  if (cpu_features().has_avx512()) sets.push_back(byte_maxima_avx512());
  for (const ByteMaximaFunctions& functions : sets)
    for (std::int64_t size = 1; size < 150; ++size) {
      std::vector<std::uint8_t> a, b, found(static_cast<std::size_t>(size) + 1, 77);
      for (std::int64_t i = 0; i < size; ++i) {
        a.push_back(static_cast<std::uint8_t>(i * 53));
        b.push_back(static_cast<std::uint8_t>(200 - i * 31));
      }
      const std::uint8_t* rows[] = {a.data(), b.data()};
      functions.of_unsigned(rows, 2, found.data(), size);
      for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(found[i], std::max(a[i], b[i]));
      functions.of_signed(rows, 2, found.data(), size);
      for (std::size_t i = 0; i < a.size(); ++i)
        ASSERT_EQ(static_cast<std::int8_t>(found[i]),
                  std::max(static_cast<std::int8_t>(a[i]), static_cast<std::int8_t>(b[i])));
      EXPECT_EQ(found.back(), 77);
    }
}

} // namespace
} // namespace lanner
