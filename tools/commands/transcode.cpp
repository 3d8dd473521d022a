// lanner transcode: decode and encode again.

#include <limits>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/option_table.h>
#include <lanner/output.h>
#include <lanner/transcode.h>

#include "check.h"
#include "command.h"
#include "input/containers.h"
#include "input/files.h"
#include "input/pipe_source.h"
#include "interrupt.h"
#include "options/limit_option.h"
#include "options/option_rows.h"
#include "options/range_options.h"
#include "options/reader_options.h"
#include "output/byte_output.h"
#include "output/console.h"
#include "output/damage.h"
#include "output/encoding_progress.h"
#include "report/quality_report.h"

namespace lanner::tool {
namespace {

struct TranscodeCommand {
  std::string input, output;
  GivenOptions writer, transcode; ///< Of the tables of writers and of transcoding.
  ReaderOptions reader;           ///< --conceal alone.
  std::string start, end, progress, quality, report;
};

TranscodeOptions to_options(TranscodeCommand& command) {
  TranscodeOptions options;
  command.reader.given.set("device", {"cpu"});
  command.reader.follow(command.writer);
  options.reader = to_reader_options(command.reader);
  options.conceal = command.reader.conceal();
  command.writer.apply(options.encoder, writer_option_table());
  if (command.writer.has("format")) options.format = options.encoder.format;
  command.transcode.apply(options, transcode_option_table());
  if (!options.muxer.format.empty()) // The names that `run` takes, too.
    options.muxer.format = container_named(options.muxer.format).format;
  options.quality = !command.quality.empty() || !command.report.empty();
  options.cancel = interrupt_token();
  options.note = [](const std::string& line) { print_note("note: " + line); };
  return options;
}

void declare_files(const TranscodeCommand& command) {
  Files files;
  files.reads("the clip", command.input);
  files.writes("the new clip", command.output);
  files.writes("--progress", command.progress);
  files.writes("--quality", command.quality);
  files.writes("--report", command.report);
}

/// Into standard output, a pipe or a device, as it comes.
TranscodeResult write_direct(Transcoder& transcoder, const TranscodeOptions& options,
                             const std::string& output, double start, double end) {
  ByteOutput bytes("transcode", output);
  const auto take = [&](std::span<const std::byte> part) {
    bytes.write({reinterpret_cast<const char*>(part.data()), part.size()});
    bytes.commit();
  };
  const std::string format = options.muxer.format.empty() ? "matroska" : options.muxer.format;
  return transcoder.write(create_muxer(take, format, output), start, end);
}

void write_quality(const TranscodeCommand& command, const TranscodeResult& result,
                   std::optional<OutputFile>& report) {
  if (!command.quality.empty()) {
    ByteOutput output("--quality", command.quality);
    output.write(quality_table(result.quality));
    output.commit();
  }
  if (report) write_quality_report(*report, {command.input, command.output, result});
  if (!command.quality.empty() || report) print_note("note: " + quality_summary(result.quality));
}

int run_transcode(TranscodeCommand command) {
  command.input = clip_path(command.input);
  check(!command.writer.has("bit_rate") || !command.writer.has("crf"), ErrorCode::invalid_argument,
        "transcode: -b:v and --crf are two ways to say one thing; give one");
  declare_files(command);
  TranscodeOptions options = to_options(command);
  const double start = command.start.empty() ? 0 : parse_time(command.start, "--start");
  const double end =
      command.end.empty() ? std::numeric_limits<double>::infinity() : parse_time(command.end, "--end");
  about("transcode", command.input, [&] {
    std::optional<OutputFile> report;
    if (!command.report.empty()) report.emplace(command.report);
    std::optional<ProgressOutput> lines;
    if (!command.progress.empty()) lines.emplace(command.progress);
    ProgressBar bar("transcode");
    options.progress = [&](const TranscodeProgress& progress) {
      bar.update(static_cast<double>(progress.frames), progress.total_frames, "frames");
      if (lines) lines->write(progress);
    };
    or_conceal(options.conceal, [&] {
      Transcoder transcoder(open_path(command.input, given_limits()), options);
      const TranscodeResult result = is_direct(command.output)
                                         ? write_direct(transcoder, options, command.output, start, end)
                                         : transcoder.write(command.output, start, end);
      write_quality(command, result, report);
    });
  });
  return 0;
}

void add_own_options(Command& command, TranscodeCommand& options) {
  command.add_option("--start", options.start,
                     "From this time on: seconds from the first frame, or like 1:02:03.5");
  command.add_option("--end", options.end, "Up to this time");
  command.add_option(
      "--progress", options.progress,
      "Write progress as key=value lines to this file, in the form of ffmpeg's; '-' is standard output");
  command.add_option("--quality", options.quality,
                     "Decode what was encoded, and write PSNR and SSIM of each frame to this file (CSV)");
  command.add_option("--report", options.report,
                     "Decode what was encoded, and write a page (HTML) that plots PSNR and SSIM by frame");
}

} // namespace

void add_transcode(Command& program, Action& action) {
  auto [command, options] = make_command<TranscodeCommand>(
      program, action, "transcode", "Decode a clip and encode it again; presentation times are kept.",
      run_transcode);
  command.add_option("input", options->input, "A clip").required();
  command
      .add_option(
          "output", options->output,
          "The new clip; its extension chooses the container (.mp4, .mkv, .mov, .webm, .avi); - is standard "
          "output")
      .required();
  OptionRows(command, options->writer)
      .more([](const OptionInfo& info) {
        return info.name == "codec"
                   ? "without it VP9 or AV1 in .webm, MPEG-4 in .avi, or what FFmpeg can encode"
                   : "";
      })
      .add(writer_option_table());
  add_own_options(command, *options);
  OptionRows(command, options->transcode).add(transcode_option_table());
  OptionRows(command, options->reader.given).add(reader_option_table(), {"raise_on_error"});
  add_limit_option(command);
  command.layout("Options",
                 {"-c", "--crf", "-b", "--preset", "--start", "--end", "--format", "--on-size-change",
                  "--deinterlace", "--no-audio", "--quality", "--report", "--progress"});
  command.footer(
      "Audio, subtitles, attached files, chapters and tags are copied as they are; what the new container "
      "cannot hold "
      "is told in a line. Rotated clips come out upright.\n\n"
      "Examples:\n  lanner transcode in.mov out.mp4\n  lanner transcode in.mp4 out.mp4 -c:v hevc --crf 28\n"
      "  lanner transcode in.mp4 part.mp4 --start 1:30 --end 2:00\n"
      "  lanner transcode in.mp4 out.mkv -c:v av1 -b:v 2M --preset 8");
}

} // namespace lanner::tool
