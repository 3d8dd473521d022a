#include "base/text/utf8.h"

#include <gtest/gtest.h>

namespace lanner {
namespace {

TEST(Utf8, EveryCharacterRoundTrips) {
  for (std::uint32_t code = 0; code < 0x110000; ++code) {
    if (code >= 0xd800 && code < 0xe000) continue;
    std::string text;
    append_utf8(text, code);
    text += 'x';
    const Utf8Character got = first_character(text);
    ASSERT_TRUE(got.valid) << code;
    ASSERT_EQ(got.code, code);
    ASSERT_EQ(got.bytes + 1, text.size());
  }
}

TEST(Utf8, InvalidBytesAreDetected) {
  for (const char* text :
       {"\x80", "\xbfx", "\xc0\x80", "\xc1\xbf", "\xc3", "\xc3x", "\xe0\x9f\xbf", "\xe2\x82", "\xed\xa0\x80",
        "\xf0\x8f\xbf\xbf", "\xf0\x9f\x98", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    const Utf8Character got = first_character(text);
    EXPECT_FALSE(got.valid) << text;
    EXPECT_EQ(got.bytes, 1u);
    EXPECT_EQ(got.code, 0u);
  }
}

} // namespace
} // namespace lanner
