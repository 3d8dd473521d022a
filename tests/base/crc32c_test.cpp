#include "base/crc32c.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace lanner {
namespace {

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(Crc32c, ValuesAreThoseOfTheStandard) {
  // RFC 3720, appendix B.4, and the catalogue's check value.
  EXPECT_EQ(crc32c(bytes(std::string(32, '\0'))), 0x8a9136aau);
  EXPECT_EQ(crc32c(bytes(std::string(32, '\xff'))), 0x62a8ab43u);
  EXPECT_EQ(crc32c(bytes("123456789")), 0xe3069283u);
  EXPECT_EQ(crc32c({}), 0u);
}

TEST(Crc32c, TablesAndInstructionAgreeAtEveryLengthAndOffset) {
  std::string text;
  for (int i = 0; i < 100; ++i) text.push_back(static_cast<char>(i * 37 + 11));
  for (std::size_t begin = 0; begin < 9; ++begin)
    for (std::size_t count = 0; count + begin <= text.size(); ++count) {
      const auto part = bytes(std::string_view(text).substr(begin, count));
      EXPECT_EQ(crc32c(part), crc32c_by_tables(part)) << begin << " " << count;
    }
}

TEST(Crc32c, PartsGiveTheChecksumOfTheWhole) {
  const std::string text = "a checksum of two parts";
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const auto whole = bytes(text);
    EXPECT_EQ(crc32c(whole.subspan(i), crc32c(whole.first(i))), crc32c(whole));
    EXPECT_EQ(crc32c_by_tables(whole.subspan(i), crc32c_by_tables(whole.first(i))), crc32c(whole));
  }
}

} // namespace
} // namespace lanner
