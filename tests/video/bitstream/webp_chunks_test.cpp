#include "video/bitstream/webp_chunks.h"

#include <string>

#include <gtest/gtest.h>

#include "expect_error.h"

namespace lanner {
namespace {

std::string number(std::size_t value, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += static_cast<char>(value >> 8 * i & 255);
  return text;
}

std::string chunk(const std::string& name, const std::string& content) {
  return name + number(content.size(), 4) + content + std::string(content.size() % 2, '\0');
}

std::string frame(int x, int y, int width, int height, char flags, const std::string& parts) {
  return chunk("ANMF", number(static_cast<std::size_t>(x / 2), 3) +
                           number(static_cast<std::size_t>(y / 2), 3) +
                           number(static_cast<std::size_t>(width - 1), 3) +
                           number(static_cast<std::size_t>(height - 1), 3) + number(40, 3) + flags + parts);
}

const std::string lossless = chunk("VP8L", std::string("\x2f\0\0\0\x10\0\0", 7));
const std::string opaque = chunk("VP8L", std::string("\x2f\0\0\0\0\0\0", 7));

Bytes bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string text(const std::vector<std::byte>& content) {
  return {reinterpret_cast<const char*>(content.data()), content.size()};
}

std::string head(char flags) {
  const std::string first = chunk("VP8X", flags + std::string(3, '\0') + number(299, 3) + number(199, 3));
  return "RIFF" + number(1000, 4) + "WEBP" + first;
}

TEST(WebpChunks, HeadTellsTheCanvas) {
  const auto canvas = animated_webp(bytes(head(2)));
  ASSERT_TRUE(canvas);
  EXPECT_EQ(canvas->width, 300);
  EXPECT_EQ(canvas->height, 200);
  EXPECT_FALSE(animated_webp(bytes(head(0x10)))) << "not animated";
  for (std::size_t i = 0; i < webp_head_bytes; ++i) EXPECT_FALSE(animated_webp(bytes(head(2)).first(i))) << i;
  EXPECT_FALSE(animated_webp(bytes("RIFF" + head(2).substr(4, 4) + "WAVE" + head(2).substr(12))));
}

TEST(WebpChunks, FrameHasItsFields) {
  const std::string whole = frame(10, 6, 30, 20, 3, lossless);
  for (const std::size_t size : {webp_frame_head, whole.size()}) {
    const WebpFrame read = webp_frame(bytes(whole).first(size), {300, 200});
    EXPECT_EQ(read.x, 10);
    EXPECT_EQ(read.y, 6);
    EXPECT_EQ(read.width, 30);
    EXPECT_EQ(read.height, 20);
    EXPECT_EQ(read.duration, 40);
    EXPECT_FALSE(read.blends);
    EXPECT_TRUE(read.clears);
    EXPECT_TRUE(read.alpha);
  }
  EXPECT_FALSE(webp_frame(bytes(frame(0, 0, 1, 1, 0, opaque)), {1, 1}).alpha);
  EXPECT_FALSE(webp_frame(bytes(frame(0, 0, 1, 1, 0, chunk("VP8 ", "abc"))), {1, 1}).alpha);
  EXPECT_TRUE(webp_frame(bytes(frame(0, 0, 1, 1, 0, chunk("ALPH", "a"))), {1, 1}).alpha);
}

TEST(WebpChunks, FrameLiesOnTheCanvas) {
  EXPECT_NO_THROW(webp_frame(bytes(frame(10, 6, 30, 20, 0, lossless)), {40, 26}));
  LANNER_EXPECT_ERROR(webp_frame(bytes(frame(10, 6, 30, 20, 0, lossless)), {39, 26}), ErrorCode::bad_data,
                      "30x20 at 10,6 lies outside of the canvas of 39x26");
  LANNER_EXPECT_ERROR(webp_frame(bytes(frame(0x1fffffe, 0x1fffffe, 1 << 24, 1 << 24, 0, lossless)), {40, 26}),
                      ErrorCode::bad_data, "outside");
  LANNER_EXPECT_ERROR(webp_frame(bytes(chunk("ANMF", "short")), {40, 26}), ErrorCode::bad_data, "fields");
}

TEST(WebpChunks, StillFileHoldsPictureAndAlpha) {
  const std::string lossy = chunk("VP8 ", "odd"), alpha = chunk("ALPH", "abcd");
  const auto still = [](const std::string& parts) {
    const std::string whole = frame(0, 0, 30, 20, 0, parts);
    return text(still_webp(bytes(whole), webp_frame(bytes(whole), {30, 20})));
  };
  EXPECT_EQ(still(lossy + chunk("XMP ", "ab")), "RIFF" + number(4 + 12, 4) + "WEBP" + lossy);
  const std::string extended = chunk("VP8X", "\x10" + std::string(3, '\0') + number(29, 3) + number(19, 3));
  EXPECT_EQ(still(alpha + lossy), "RIFF" + number(4 + 18 + 12 + 12, 4) + "WEBP" + extended + alpha + lossy);
  EXPECT_EQ(still(alpha + lossless), "RIFF" + number(4 + 16, 4) + "WEBP" + lossless);
}

TEST(WebpChunks, FrameWithoutAPictureIsRefused) {
  const std::string nested = frame(0, 0, 1, 1, 0, lossless);
  for (const std::string& parts : {std::string(), nested, chunk("ALPH", "a"),
                                   "VP8L" + number(0xffffffff, 4) + "abc", std::string("VP8L\1")}) {
    const std::string whole = frame(0, 0, 1, 1, 0, parts);
    LANNER_EXPECT_ERROR(still_webp(bytes(whole), webp_frame(bytes(whole), {1, 1})), ErrorCode::bad_data,
                        "no whole picture");
  }
}

TEST(WebpChunks, FirstFrameOfAFile) {
  const std::string one = frame(0, 0, 1, 1, 0, lossless);
  EXPECT_EQ(first_webp_frame(bytes(head(2) + chunk("ANIM", "abcdef") + one + one)).size(), one.size());
  LANNER_EXPECT_ERROR(first_webp_frame(bytes(head(2) + chunk("ANIM", one))), ErrorCode::bad_data,
                      "without a whole frame");
  LANNER_EXPECT_ERROR(first_webp_frame(bytes((head(2) + one).substr(0, 40))), ErrorCode::bad_data,
                      "without a whole frame");
}

// libwebp's IsKeyFrame().
TEST(WebpChunks, KeysNeedNoFrameBefore) {
  const WebpFrame part{0, 0, 1, 1, 1, true, false, true}, cleared{0, 0, 1, 1, 1, true, true, true};
  const WebpFrame whole{0, 0, 2, 2, 1, false, false, true}, blended{0, 0, 2, 2, 1, true, true, true};
  WebpKeys keys({2, 2});
  EXPECT_TRUE(keys.next(part));
  EXPECT_FALSE(keys.next(part));
  EXPECT_TRUE(keys.next(whole));
  EXPECT_FALSE(keys.next(cleared)) << "only its own place is empty afterwards";
  EXPECT_FALSE(keys.next(blended));
  EXPECT_TRUE(keys.next(cleared)) << "the whole canvas was cleared";
  EXPECT_TRUE(keys.next(part)) << "all that was drawn since was cleared";
  EXPECT_FALSE(keys.next(part));
}

} // namespace
} // namespace lanner
