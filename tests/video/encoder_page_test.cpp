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
  std::string text = "| encoder | option | reason, and what to use instead |\n|---|---|---|\n";
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
         "Generated from the tables of `src/video/write/encoder_tables.h`, which the encoders use, by\n"
         "`LANNER_WRITE_OPTIONS=1 build/bin/lanner_tests --gtest_filter=EncoderPage.*`; do not edit. All "
         "options: [options.md](options.md).\n\n"
         "## Presets\n\n"
         "P1 is the fastest, P7 has the best quality. Without a preset: `veryfast` for libx264 and libx265, "
         "10 for libsvtav1, 8 for libaom-av1, 5 for libvpx-vp9.\nlibaom-av1 treats 7 and 8 as 6, except with "
         "`usage=realtime`.\n\n" +
         presets() +
         "\n## Tunings\n\n"
         "An explicit option overrides the tuning's setting.\n\n" +
         tunings() +
         "\nSVT-AV1 1.4 has no lossless mode and supports 4:2:0 only: `codec=\"av1\"` uses libaom-av1 for "
         "4:2:2, "
         "4:4:4 and lossless encoding. libx264rgb is used instead of libx264 for lossless RGB.\n"
         "\n## Options that an encoder does not support\n\n"
         "Setting them is an error.\n\n" +
         refusals() +
         "\nEncoders that are not in the table of presets have codec, size, rate, bit rate, `gop`, "
         "`b_frames`, "
         "colours, `codec_options`, and only these further options:\n\n" +
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
