#include "base/hash.h"

#include <gtest/gtest.h>

namespace lanner {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// Values from the xxHash project's command xxh128sum.
TEST(Hash, KnownValues) {
  EXPECT_EQ(hash_hex({}), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hash_hex(bytes_of("lanner")), "7e995b795003112988d50777c6f4cc31");
}

TEST(Hash, PiecewiseHashEqualsWholeHash) {
  const std::string text(100'000, 'x');
  Hasher hasher;
  hasher.update(std::string_view(text).substr(0, 77));
  hasher.update(std::string_view(text).substr(77));
  EXPECT_EQ(hasher.hex(), hash_hex(bytes_of(text)));
}

} // namespace
} // namespace lanner
