// docs/options.md is generated from the tables of options. LANNER_WRITE_OPTIONS=1 writes it.

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "file_content.h"
#include "options/tables.h"
#include "source_dir.h"

namespace lanner::test {
namespace {

/// Of a cell of a table.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? std::string("\\|") : c == '*' ? "\\*" : std::string{c};
  return escaped;
}

std::string code(std::string_view text) {
  return text.empty() ? "" : fmt::format("`{}`", text);
}

std::string flags(const OptionInfo& info) {
  const std::string other = code(info.other_flag);
  return code(info.flag) + (other.empty() ? "" : ", " + other);
}

std::string default_text(const OptionInfo& info, const OptionValue& value) {
  const std::string text = info.standard.empty() ? option_text(value) : std::string(info.standard);
  if (info.kind == OptionKind::environment || info.kind == OptionKind::limits) return "";
  if (info.unset.empty()) return code(text);
  return text.empty() ? cell(info.unset) : fmt::format("{}: {}", code(text), cell(info.unset));
}

std::string unit_of(OptionKind kind) {
  switch (kind) {
  case OptionKind::seconds:
    return " (seconds)";
  case OptionKind::bytes:
    return " (bytes)";
  case OptionKind::bit_rate:
    return " (bits per second)";
  case OptionKind::bits:
    return " (bits)";
  default:
    return {};
  }
}

/// Help of an option, and why an interface lacks it.
std::string meaning(const OptionInfo& info) {
  std::string text = cell(info.help) + unit_of(info.kind);
  if (!info.details.empty()) text += "; " + cell(info.details);
  if (!info.example.empty()) text += fmt::format("; example: {}", code(info.example));
  for (const auto& [interface, reason] : {std::pair{"on the command line", info.no_flag},
                                          {"in Python", info.no_keyword},
                                          {"in C", info.no_field}})
    if (!reason.empty()) text += fmt::format(". Not {}: {}", interface, cell(reason));
  return text;
}

template<typename Options>
std::string table_text(const OptionTable<Options>& table, std::string_view title, std::string_view where) {
  std::string text = fmt::format("\n## {}\n\n{}\n\n| Python | command line | C | default | meaning |\n"
                                 "|---|---|---|---|---|\n",
                                 title, where);
  for (const OptionRow<Options>& row : table)
    text += fmt::format("| {} | {} | {} | {} | {} |\n",
                        row.info.no_keyword.empty() ? code(row.info.name) : "", flags(row.info),
                        code(row.field.name), default_text(row.info, row.get(Options{})), meaning(row.info));
  return text;
}

std::string page() {
  return "# Options\n\n"
         "Generated from the tables of options by `LANNER_WRITE_OPTIONS=1 build/bin/lanner_tests "
         "--gtest_filter=OptionsPage.*`; do not edit.\n"
         "An option is one row of a table in `src/options/`, from which the command line, Python, C and this "
         "page "
         "take it ([decision 043](decisions/043-option-tables.md)).\n"
         "In C, zero means the default, and the default of `device` is `cpu`.\n" +
         table_text(build_option_table(), "Builds",
                    "`lanner.build()`, `lanner build` and other commands that take models, "
                    "`lanner_build_options`; in C++ `BuildOptions`.") +
         table_text(
             load_option_table(), "Loads",
             "`lanner.load()`, commands that take plans, `lanner_load_options`; in C++ `LoadOptions`.") +
         table_text(
             tf::convert_option_table(), "Conversions",
             "`lanner.tf.convert()`, `lanner.tf.load()`, `lanner convert`, besides those of builds; in "
             "C++ `tf::ConvertOptions` ([tensorflow.md](tensorflow.md)).") +
         table_text(context_option_table(), "Contexts",
                    "`Engine.create_context()`, `lanner_context_options`; in C++ `ContextOptions`.") +
         table_text(verify_option_table(), "Verification",
                    "`Engine.verify()`, `lanner verify`, `lanner_verify_options`; in C++ `VerifyOptions`.") +
         table_text(
             reader_option_table(), "Video readers",
             "`lanner.VideoReader`, `lanner.ParallelDecoder`, `lanner decode`, `lanner_video_options`; in "
             "C++ `VideoReaderOptions`.") +
         table_text(writer_option_table(), "Video writers",
                    "`lanner.VideoWriter`, `lanner.Encoder`, `lanner transcode`; in C++ `EncoderOptions`.") +
         table_text(encoder_option_table(), "Encoders",
                    "`lanner.Encoder`, besides those of video writers; in C++ `EncoderOptions`.") +
         table_text(transcode_option_table(), "Transcoding",
                    "`lanner.transcode()`, `lanner transcode`, besides those of writers; in C++ "
                    "`TranscodeOptions`.") +
         table_text(audio_reader_option_table(), "Audio readers",
                    "`lanner.AudioReader`, `lanner decode -o x.wav`; in C++ `AudioReaderOptions`.") +
         table_text(audio_encoder_option_table(), "Audio of video writers",
                    "`lanner.VideoWriter`, for `write_audio()`; in C++ `AudioEncoderOptions`.") +
         table_text(
             preprocess_option_table(), "Preprocessing",
             "`lanner.Preprocess` and functions that make tensors of pictures, commands that run networks on "
             "pictures; in C++ `Preprocess`.");
}

} // namespace

TEST(OptionsPage, IsUpToDate) {
  const auto path = source_dir() / "docs" / "options.md";
  if (std::getenv("LANNER_WRITE_OPTIONS")) std::ofstream(path) << page();
  EXPECT_EQ(content_of(path), page()) << "LANNER_WRITE_OPTIONS=1 writes it";
}

} // namespace lanner::test
