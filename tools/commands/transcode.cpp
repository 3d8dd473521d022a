// lanner transcode: decode and encode again.

#include <cmath>

#include <fmt/format.h>

#include <lanner/encoder.h>
#include <lanner/error.h>
#include <lanner/video_reader.h>

#include "check.h"
#include "command.h"
#include "input/clip_times.h"
#include "input/containers.h"
#include "input/files.h"
#include "input/pipe_source.h"
#include "input/upright.h"
#include "interrupt.h"
#include "options/limit_option.h"
#include "options/option_rows.h"
#include "options/reader_options.h"
#include "output/clip_output.h"
#include "output/console.h"
#include "output/damage.h"

namespace lanner::tool {
namespace {

struct TranscodeOptions {
  std::string input, output;
  GivenOptions writer;  ///< Of the table of writers.
  ReaderOptions reader; ///< --conceal alone.
};

/// What the container holds and players show, where no codec was named; what is said of quality wins.
EncoderOptions encoder_options(const TranscodeOptions& options) {
  EncoderOptions encoder;
  const Container* container = container_of(options.output);
  if (!options.writer.has("codec") && container && !container->codecs.empty())
    encoder = encoder_for(*container);
  if (options.writer.has("bit_rate") || options.writer.has("crf")) {
    encoder.crf = EncoderOptions().crf;
    encoder.codec_options.erase("flags"); // Of a fixed quality.
    encoder.codec_options.erase("global_quality");
  }
  options.writer.apply(encoder, writer_option_table());
  return encoder;
}

/// A file has pictures of one size.
class SizeCheck {
public:
  void check(const Image& image, const Frame& frame) {
    if (width_ == 0) width_ = image.width, height_ = image.height;
    tool::check(
        image.width == width_ && image.height == height_, ErrorCode::unsupported,
        "frame {} ({:.3f} s) is {}x{}, those before are {}x{}, and a file is written in one size; let ffmpeg "
        "bring them to one first: ffmpeg -i CLIP -vf scale={}:{} -c:v ffv1 one_size.mkv",
        frame.index, frame.seconds(), image.width, image.height, width_, height_, width_, height_);
  }

private:
  std::int32_t width_ = 0, height_ = 0;
};

int run_transcode(TranscodeOptions options) {
  options.input = clip_path(options.input);
  check(!options.writer.has("bit_rate") || !options.writer.has("crf"), ErrorCode::invalid_argument,
        "transcode: -b:v and --crf are two ways to say one thing; give one");
  Files files;
  files.reads("the clip", options.input);
  files.writes("the new clip", options.output);
  about("transcode", options.input, [&] {
    options.reader.given.set("device", {"cpu"});
    options.reader.follow(options.writer);
    // Frames as they are stored: upright_image() keeps samples as they are.
    VideoReader reader(open_path(options.input, given_limits()), to_reader_options(options.reader));
    const EncoderOptions encoder = encoder_options(options);
    ClipTimes times(reader.stream(), container_of(options.output), encoder.codec);
    StreamInfo written = upright_stream(reader.stream());
    written.time_base = times.time_base();
    ClipOutput output(options.output, written, PixelChoice::source, encoder);
    const double expected = expected_frames(reader);
    ProgressBar bar("transcode");
    std::int64_t count = 0;
    SizeCheck size;
    while (auto frame = or_conceal(options.reader.conceal(), [&] { return reader.next(); })) {
      interrupt_token().check();
      const Image image = upright_image(*frame);
      size.check(image, *frame);
      const std::int64_t time = times.next(frame->pts, frame->duration);
      output.write(image, time, times.length());
      bar.update(static_cast<double>(++count), expected, "frames");
    }
    check(count > 0, ErrorCode::bad_data, "no frame could be decoded");
    interrupt_token().check();
    output.finish();
  });
  return 0;
}

} // namespace

void add_transcode(Command& program, Action& action) {
  auto [command, options] = make_command<TranscodeOptions>(
      program, action, "transcode", "Decode a clip and encode it again; presentation times are kept.",
      run_transcode);
  command.add_option("input", options->input, "A clip").required();
  command
      .add_option("output", options->output,
                  "The new clip; its extension chooses the container (.mp4, .mkv, .mov, .webm, .avi)")
      .required();
  OptionRows(command, options->writer)
      .more([](const OptionInfo& info) {
        return info.name == "codec"
                   ? "without it VP9 or AV1 in .webm, MPEG-4 in .avi, or what FFmpeg can encode"
                   : "";
      })
      .add(writer_option_table());
  OptionRows(command, options->reader.given).add(reader_option_table(), {"raise_on_error"});
  add_limit_option(command);
  command.footer(
      "Rotated clips come out upright. Audio is left out.\n\n"
      "Examples:\n  lanner transcode in.mov out.mp4\n  lanner transcode in.mp4 out.mp4 -c:v hevc --crf 28\n"
      "  lanner transcode in.mp4 out.mkv -c:v av1 -b:v 2M --preset 8");
}

} // namespace lanner::tool
