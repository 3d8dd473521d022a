#include "tasks/draw/text.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/options.h"
#include "temporary_folder.h"

namespace lanner {
namespace {

TEST(DrawnText, AsciiIsDrawnAsStrokesWithoutFonts) {
  const TextLine line = lay_out_text("Cat 9", 12);
  EXPECT_TRUE(line.letters.empty());
  EXPECT_FALSE(line.strokes.empty());
  EXPECT_GT(line.width, 30);
  EXPECT_EQ(text_width("", 12), 0);
}

TEST(DrawnText, WidthGrowsWithHeight) {
  EXPECT_NEAR(text_width("wide", 24), 2 * text_width("wide", 12), 1e-3);
}

TEST(DrawnText, LettersWithoutAFontAreBoxes) {
  FontStack none({});
  // A box is five strokes for each character, not for each byte.
  const TextLine one = lay_out_text("\xd0\x96", 12, none),
                 two = lay_out_text("\xd0\x96\xe4\xb8\xad", 12, none);
  EXPECT_TRUE(one.letters.empty());
  EXPECT_EQ(two.strokes.size(), 2 * one.strokes.size());
  EXPECT_EQ(lay_out_text("\xff\xff", 12, none).strokes.size(), two.strokes.size());
  EXPECT_EQ(lay_out_text("a\xe2\x80\x8f", 12, none).strokes.size(),
            lay_out_text("a", 12, none).strokes.size())
      << "a mark without a visible form";
}

TEST(DrawnText, FittedTextIsNoWiderAndEndsInDots) {
  const std::string text = "a label of many words";
  EXPECT_EQ(fitted_text(text, 1000, 10), text);
  const std::string cut = fitted_text(text, 80, 10);
  EXPECT_TRUE(cut.ends_with(".."));
  EXPECT_LE(text_width(cut, 10), 80);
  EXPECT_GT(text_width(cut, 10), 60);
  EXPECT_EQ(fitted_text(text, -5, 10), "a..");
  EXPECT_EQ(fitted_text("", 10, 10), "");
  EXPECT_EQ(fitted_text("\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80", 1000, 10),
            "\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80");
}

TEST(DrawnText, IsClippedToThePicture) {
  const TextPicture picture = draw_text(lay_out_text("MMMM", 20), -30, -5, {0, 0, 40, 12});
  EXPECT_EQ(picture.place, (PixelRect{0, 0, 40, 12}));
  EXPECT_EQ(picture.coverage.size(), 480u);
  EXPECT_TRUE(draw_text(lay_out_text("MMMM", 20), 100, 5, {0, 0, 40, 12}).coverage.empty());
}

TEST(Fonts, AreFoundByNameInFoldersAndBelow) {
  const TemporaryFolder folder;
  folder.write("deep/er/NotoSansCJK-Regular.ttc", "no font");
  folder.write("DejaVuSans.ttf", "no font");
  folder.write("Other.ttf", "no font");
  const std::filesystem::path folders[] = {folder / "missing", folder.path()};
  const auto files = find_font_files(folders);
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].filename(), "DejaVuSans.ttf");
  EXPECT_EQ(files[1].filename(), "NotoSansCJK-Regular.ttc");
}

TEST(Fonts, InvalidFontFileIsSkipped) {
  if (!freetype_reason().empty()) GTEST_SKIP() << freetype_reason();
  const TemporaryFolder folder;
  FontStack fonts({folder.write("DejaVuSans.ttf", "no font"), folder / "missing.ttf"});
  EXPECT_EQ(fonts.glyph(U'Ж', 12), nullptr);
  const FontSupport support = fonts.support();
  EXPECT_TRUE(support.path.empty());
  EXPECT_NE(support.reason.find("fonts-dejavu-core"), std::string::npos) << support.reason;
  EXPECT_NE(support.reason.find("fonts-noto-cjk"), std::string::npos) << support.reason;
}

class MachineFonts : public testing::Test {
protected:
  void SetUp() override {
    if (!freetype_reason().empty()) GTEST_SKIP() << freetype_reason();
    files = find_font_files(options().font_folders);
    if (files.empty()) GTEST_SKIP() << "no known font on this machine: apt-get install fonts-dejavu-core";
  }
  std::vector<std::filesystem::path> files;
};

TEST_F(MachineFonts, LettersHaveTheRequestedHeightOnTheBaseline) {
  FontStack fonts(files);
  for (const float height : {8.f, 12.f, 30.f}) {
    const auto glyph = fonts.glyph(U'Ж', height);
    ASSERT_TRUE(glyph);
    EXPECT_NEAR(static_cast<float>(glyph->top), height, 1.1f);
    EXPECT_NEAR(static_cast<float>(glyph->height), height, 1.1f);
    EXPECT_GT(glyph->advance, height * 0.7f);
    EXPECT_EQ(glyph->coverage.size(), static_cast<std::size_t>(glyph->width) * glyph->height);
    EXPECT_EQ(*std::ranges::max_element(glyph->coverage), 255);
  }
  EXPECT_EQ(fonts.glyph(U'Ж', 12), fonts.glyph(U'Ж', 12)) << "is kept";
  EXPECT_EQ(fonts.glyph(U'\u0627', 12), nullptr) << "Arabic needs shaping";
  EXPECT_EQ(fonts.glyph(U'Ж', 0), nullptr);
}

TEST_F(MachineFonts, LineWithNonAsciiUsesOneFont) {
  FontStack fonts(files);
  const TextLine line = lay_out_text("\xd0\x9a\xd0\xbe\xd1\x82 97%", 20, fonts);
  EXPECT_EQ(line.letters.size(), 6u) << "the space has no bitmap";
  EXPECT_TRUE(line.strokes.empty());
  const TextPicture picture = draw_text(line, 10, 10, {0, 0, 300, 60});
  int covered = 0;
  for (const std::uint8_t value : picture.coverage) covered += value > 128 ? 1 : 0;
  EXPECT_GT(covered, 200);
}

TEST_F(MachineFonts, AccentIsAboveItsCapital) {
  FontStack fonts(files);
  const TextPicture picture = draw_text(lay_out_text("\xd0\x99", 20, fonts), 10, 20, {0, 0, 100, 60});
  bool above = false;
  for (std::int32_t y = picture.place.y; y < 19; ++y)
    for (std::int32_t x = 0; x < picture.place.width; ++x)
      above = above ||
              picture.coverage[static_cast<std::size_t>(y - picture.place.y) * picture.place.width + x] > 128;
  EXPECT_TRUE(above);
}

TEST_F(MachineFonts, DrawsChineseJapaneseAndKorean) {
  FontStack fonts(files);
  if (fonts.support().cjk_path.empty()) GTEST_SKIP() << fonts.support().reason;
  const TextLine line = lay_out_text("\xe4\xb8\xad\xe3\x81\x82\xea\xb0\x80", 20, fonts);
  EXPECT_EQ(line.letters.size(), 3u);
  EXPECT_TRUE(line.strokes.empty());
}

} // namespace
} // namespace lanner
