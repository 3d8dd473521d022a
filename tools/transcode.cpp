// lanner transcode: decode and encode again.

#include <cmath>

#include <fmt/format.h>

#include <lanner/encoder.h>
#include <lanner/error.h>
#include <lanner/video_reader.h>

#include "arguments.h"
#include "check.h"
#include "clip_output.h"
#include "clip_times.h"
#include "command.h"
#include "console.h"
#include "containers.h"
#include "damage.h"
#include "files.h"
#include "interrupt.h"
#include "limit_option.h"
#include "pipe_source.h"
#include "upright.h"

namespace lanner::tool {
namespace {

struct TranscodeOptions {
  std::string input, output, codec, bit_rate, preset;
  double crf = -1;
  int gop = 0, threads = 0;
  bool conceal = false;
};

/// What the container holds and players show, where no codec was named; what is said of quality wins.
EncoderOptions encoder_options(const TranscodeOptions& options) {
  EncoderOptions encoder;
  const Container* container = container_of(options.output);
  if (!options.codec.empty())
    encoder.codec = options.codec;
  else if (container && !container->codecs.empty())
    encoder = encoder_for(*container);
  if (!options.bit_rate.empty()) encoder.bit_rate = parse_bit_rate(options.bit_rate);
  if (encoder.bit_rate > 0 || options.crf >= 0) {
    encoder.crf = options.crf;
    encoder.codec_options.erase("flags"); // Of a fixed quality.
    encoder.codec_options.erase("global_quality");
  }
  encoder.preset = options.preset;
  encoder.gop = options.gop;
  encoder.threads = options.threads;
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
  check(options.bit_rate.empty() || options.crf < 0, ErrorCode::invalid_argument,
        "transcode: -b:v and --crf are two ways to say one thing; give one");
  Files files;
  files.reads("the clip", options.input);
  files.writes("the new clip", options.output);
  about("transcode", options.input, [&] {
    VideoReaderOptions reader_options;
    reader_options.demuxer.cancel = interrupt_token();
    reader_options.demuxer.limits = reader_options.decoder.limits = given_limits();
    reader_options.decoder.threads = options.threads;
    reader_options.rotate = false; // upright_image() keeps samples as they are.
    reader_options.decoder.raise_on_error = !options.conceal;
    VideoReader reader(open_path(options.input, given_limits()), reader_options);
    const EncoderOptions encoder = encoder_options(options);
    ClipTimes times(reader.stream(), container_of(options.output), encoder.codec);
    StreamInfo written = upright_stream(reader.stream());
    written.time_base = times.time_base();
    ClipOutput output(options.output, written, PixelChoice::source, encoder);
    const double expected = expected_frames(reader);
    ProgressBar bar("transcode");
    std::int64_t count = 0;
    SizeCheck size;
    while (auto frame = or_conceal(options.conceal, [&] { return reader.next(); })) {
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
  command.add_option("-c,--codec", options->codec,
                     "-c:v too: h264, hevc, av1, vp9, mpeg4, mjpeg, ffv1, or an FFmpeg encoder (default: "
                     "h264; VP9 or AV1 in "
                     ".webm, MPEG-4 in .avi, or what FFmpeg can encode)");
  command.add_option("-b,--bit-rate", options->bit_rate, "Bits per second, like 4M or 800k; -b:v too");
  command
      .add_option("--crf", options->crf,
                  "Constant quality, the codec's own scale (h264: 0 to 51, 23 is usual)")
      .not_negative();
  command.add_option("--preset", options->preset,
                     "Speed against size: ultrafast (fast, large) to placebo, or the codec's own");
  command.add_option("--gop", options->gop, "Frames between keyframes (default: the codec's)").not_negative();
  command.add_option("--threads", options->threads, "Threads of each codec (default: the machine's cores)")
      .not_negative();
  command.add_flag(
      "--conceal", options->conceal,
      "Conceal damage in the clip, and end where it cannot be read on; without it damage is an error");
  add_limit_option(command);
  command.footer(
      "Rotated clips come out upright. Audio is left out.\n\n"
      "Examples:\n  lanner transcode in.mov out.mp4\n  lanner transcode in.mp4 out.mp4 -c:v hevc --crf 28\n"
      "  lanner transcode in.mp4 out.mkv -c:v av1 -b:v 2M --preset 8");
}

} // namespace lanner::tool
