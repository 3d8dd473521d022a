// docs/encoder-presets.md is what the tables of encoders say. LANNER_WRITE_OPTIONS=1 writes it.

#include <cstdlib>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "file_content.h"
#include "source_dir.h"
#include "video/write/encoder_tables.h"

namespace lanner::test {
namespace {

std::string code(std::string_view text) {
  return text.empty() ? "" : fmt::format("`{}`", text);
}

std::string presets() {
  std::string text =
      "| encoder | option | P1 | P2 | P3 | P4 | P5 | P6 | P7 |\n|---|---|---|---|---|---|---|---|---|\n";
  for (const PresetRow& row : preset_rows) {
    text += fmt::format("| {} | `{}` |", row.encoder, row.option);
    for (const std::string_view value : row.values) text += fmt::format(" {} |", value);
    text += "\n";
  }
  return text;
}

std::string tunings() {
  std::string text = "| encoder | tuning | settings |\n|---|---|---|\n";
  for (const TuningRow& row : tuning_rows)
    text += fmt::format("| {} | {} | {} |\n", row.encoder, to_string(row.tuning),
                        row.settings.empty() ? "those of the preset" : code(row.settings));
  return text;
}

std::string refusals() {
  std::string text = "| encoder | option | why, and what would do |\n|---|---|---|\n";
  for (const EncoderRefusal& row : encoder_refusals)
    text +=
        fmt::format("| {} | `{}` | {} |\n", row.encoder == "*" ? "all" : row.encoder, row.option, row.why);
  return text;
}

std::string others() {
  std::string text;
  for (const OtherEncoder& row : other_encoders)
    text += fmt::format("| {} | {} |\n", row.encoder, row.options);
  return "| encoder | options |\n|---|---|\n" + text;
}

std::string page() {
  return "# Presets and tunings of encoders\n\n"
         "Generated of the tables of `src/video/write/encoder_tables.h`, which the encoders use, by\n"
         "`LANNER_WRITE_OPTIONS=1 build/bin/lanner_tests --gtest_filter=EncoderPage.*`; do not edit. What "
         "each option "
         "says: [options.md](options.md).\n\n"
         "## Presets\n\n"
         "P1 is the fastest, P7 the best. Without a preset: `veryfast` of libx264 and libx265, 10 of "
         "libsvtav1, 8 of "
         "libaom-av1, 5 of libvpx-vp9.\nlibaom-av1 does 7 and 8 like 6, but for `usage=realtime`.\n\n" +
         presets() +
         "\n## Tunings\n\n"
         "An option that is given beside a tuning wins over it.\n\n" +
         tunings() +
         "\nSVT-AV1 1.4 has no lossless mode and 4:2:0 alone: `codec=\"av1\"` takes libaom-av1 for 4:2:2, "
         "4:4:4 and "
         "lossless, and libx264rgb stands for libx264 where RGB is kept without loss.\n"
         "\n## What an encoder does not have\n\n"
         "Given all the same, these are an error.\n\n" +
         refusals() +
         "\nOther encoders than those above have, beside codec, size, rate, bit rate, `gop`, `b_frames`, "
         "colours and "
         "`codec_options`, these alone:\n\n" +
         others();
}

} // namespace

TEST(EncoderPage, IsWhatTheTablesSay) {
  const auto path = source_dir() / "docs" / "encoder-presets.md";
  if (std::getenv("LANNER_WRITE_OPTIONS")) std::ofstream(path) << page();
  EXPECT_EQ(content_of(path), page()) << "LANNER_WRITE_OPTIONS=1 writes it";
}

TEST(EncoderPage, EachEncoderWithPresetsSaysWhatTheTuningsAre) {
  for (const PresetRow& preset : preset_rows) {
    std::set<Tuning> told;
    for (const TuningRow& row : tuning_rows)
      if (row.encoder == preset.encoder) {
        EXPECT_TRUE(told.insert(row.tuning).second) << row.encoder;
      }
    EXPECT_EQ(told.size(), preset.encoder == "libsvtav1" ? 3u : 4u)
        << preset.encoder; // It has no lossless mode.
  }
}

} // namespace lanner::test
