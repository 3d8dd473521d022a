// lanner decode: writes the frames of a clip, as stored or in another pixel format.

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/video_reader.h>

#include "check.h"
#include "command.h"
#include "commands/decode_audio.h"
#include "input/files.h"
#include "input/pipe_source.h"
#include "interrupt.h"
#include "options/limit_option.h"
#include "options/range_options.h"
#include "options/reader_options.h"
#include "output/console.h"
#include "output/damage.h"
#include "output/frame_sink.h"

namespace lanner::tool {
namespace {

struct DecodeOptions {
  std::string input, output;
  std::optional<std::string> frames, at, size;
  ReaderOptions reader;
  GivenOptions audio;
  bool md5 = false;
};

/// The summary, printed where standard output is free.
struct Summary {
  std::string decoder, reason;
  std::int64_t frames = 0;
  std::optional<Image> first;
  std::string stored; ///< FFmpeg's name of the pixel format that the decoder has.
  bool sizes_differ = false;

  void add(const Image& image) {
    ++frames;
    if (!first) {
      first = image;
      first->owner = nullptr;
    }
    sizes_differ = sizes_differ || image.width != first->width || image.height != first->height ||
                   image.format != first->format;
  }
};

/// Pixels do not depend on the decoder: a GPU's own storage (nv12 for yuv420p) is converted to the stream's
/// format.
VideoReaderOptions options_for(const DecodeOptions& options, const SourcePtr& source) {
  VideoReaderOptions reader = to_reader_options(options.reader);
  // Images are for viewing; a digest is of what the decoder gives.
  if (reader.format || options.reader.given.text("device") == "cpu") return reader;
  check(source->seekable() || options.reader.given.text("device") == "auto", ErrorCode::unsupported,
        "{}: is a pipe, whose pixel format is not known before its frames: give --format, or --device cpu",
        options.input);
  if (!source->seekable()) {
    reader.decoder.device = Device{};
    return reader;
  }
  const auto demuxer = open_demuxer(open_path(options.input, given_limits()), reader.demuxer);
  const int stream = reader.stream >= 0 ? reader.stream : demuxer->best_video();
  const auto place = static_cast<std::size_t>(stream);
  if (stream >= 0 && place < demuxer->streams().size()) reader.format = demuxer->streams()[place].format;
  return reader;
}

void decode_all(const DecodeOptions& options, FrameSink& sink, Summary& summary) {
  ProgressBar bar("decode");
  const SourcePtr source = open_path(options.input, given_limits());
  ParallelDecoder decoder(source, options_for(options, source), {interrupt_token(), bar.callback()});
  summary.decoder = decoder.description();
  summary.stored = decoder.stream().native_format;
  summary.reason = decoder.decoder_reason();
  while (const auto frame = or_conceal(options.reader.conceal(), [&] { return decoder.next(); })) {
    interrupt_token().check();
    summary.add(sink.write(*frame));
    bar.update(static_cast<double>(summary.frames),
               static_cast<double>(std::max<std::int64_t>(0, decoder.size())), "frames");
  }
}

/// Decoded frames kept ahead: enough to decode in parallel, fewer where frames are large.
std::size_t frames_at_once(const StreamInfo& stream) {
  constexpr std::uint64_t most = 64, bytes = 1ull << 30;
  constexpr std::uint64_t pixel_bytes = 6; // For the widest format.
  const auto pixels = static_cast<std::uint64_t>(std::max(1, stream.width)) *
                      static_cast<std::uint64_t>(std::max(1, stream.height));
  return std::clamp<std::uint64_t>(bytes / (pixels * pixel_bytes), 1, most);
}

/// Numbers of the frames that are on screen at the times of `--at`.
std::vector<std::int64_t> frames_at(const std::string& text, VideoReader& reader) {
  std::vector<std::int64_t> frames;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    frames.push_back(reader.index_at(parse_time(text.substr(begin, end - begin), "--at")));
    begin = end + 1;
  }
  return frames;
}

void decode_some(const DecodeOptions& options, FrameSink& sink, Summary& summary) {
  const SourcePtr source = open_path(options.input, given_limits());
  VideoReader reader(source, options_for(options, source));
  summary.decoder = reader.decoder_description();
  summary.stored = reader.stream().native_format;
  summary.reason = reader.decoder_reason();
  const std::vector<std::int64_t> wanted =
      options.frames ? parse_frames(*options.frames, reader.size()) : frames_at(*options.at, reader);
  sink.expect(static_cast<std::int64_t>(wanted.size()));
  const std::size_t at_once = frames_at_once(reader.stream());
  ProgressBar bar("decode");
  for (std::size_t begin = 0; begin < wanted.size(); begin += at_once) {
    interrupt_token().check();
    const std::span some(wanted.data() + begin, std::min(at_once, wanted.size() - begin));
    for (const Frame& frame : or_conceal(options.reader.conceal(), [&] { return reader.at(some); })) {
      summary.add(sink.write(frame));
    }
    bar.update(static_cast<double>(summary.frames), static_cast<double>(wanted.size()), "frames");
  }
}

/// Where the digest cannot be ffmpeg's of the same clip.
void print_digest_note(const DecodeOptions& options, const Summary& summary) {
  if (!options.md5 || !summary.first || options.reader.given.has("format") || options.size) return;
  const PixelFormat format = summary.first->format;
  if (summary.stored.empty() || has_ffmpeg_name(format, summary.stored)) return;
  print_note(
      fmt::format("note: --md5 is of {} pixels, which the clip's {} is unpacked to; ffmpeg -f md5 is of the "
                  "latter",
                  to_string(format), summary.stored));
}

void print_summary(const DecodeOptions& options, const Summary& summary) {
  if (options.md5 || options.output == "-") return;
  // A missing GPU is reported by lanner doctor and lanner explain, not by each decode.
  const std::string why = summary.reason.starts_with("auto: no GPU") ? "" : " (" + summary.reason + ")";
  std::string text = fmt::format("{} {} by {}{}\n", summary.frames, summary.frames == 1 ? "frame" : "frames",
                                 summary.decoder, why);
  if (summary.first)
    text = fmt::format("{}x{} {}, ", summary.first->width, summary.first->height,
                       to_string(summary.first->format)) +
           text;
  if (summary.sizes_differ) text += "frames differ in size or format: each is written as it is\n";
  print_text(text);
}

int run_decode_audio(const DecodeOptions& options, Files& files) {
  check(!options.frames && !options.at && !options.size && !options.md5 &&
            !options.reader.given.has("format"),
        ErrorCode::invalid_argument,
        "-o {}: is for audio; leave out --frames, --at, --size, --format and --md5, which are for pictures",
        options.output);
  files.writes("-o", options.output);
  about("decode", options.input, [&] {
    decode_audio({options.input, options.output, options.audio}, options.reader);
  });
  return 0;
}

int run_decode(DecodeOptions options) {
  options.input = clip_path(options.input);
  Files files;
  files.reads("the clip", options.input);
  if (is_wav(options.output)) return run_decode_audio(options, files);
  check(options.audio.empty(), ErrorCode::invalid_argument,
        "--sample-rate and --num-channels are for audio; expected -o NAME.wav");
  about("decode", options.input, [&] {
    const auto size = options.size ? std::optional(parse_frame_size(*options.size)) : std::nullopt;
    FrameSink sink(options.output, options.md5, files, size);
    Summary summary;
    if (!options.frames && !options.at)
      decode_all(options, sink, summary);
    else
      decode_some(options, sink, summary);
    check(summary.frames > 0, ErrorCode::bad_data, "no frame was decoded");
    interrupt_token().check();
    print_digest_note(options, summary);
    sink.finish();
    print_summary(options, summary);
  });
  return 0;
}

} // namespace

void add_decode(Command& program, Action& action) {
  auto [command, options] = make_command<DecodeOptions>(
      program, action, "decode",
      "Write the frames of a clip as raw pixels or as pictures, or print their MD5; or write its audio.",
      run_decode);
  command.add_option("clip", options->input, "A clip").required();
  command.add_option("-o,--output", options->output,
                     "File for the pixels, - for standard output (default: none); .png or .jpg for one "
                     "picture, frame%03d.png for each frame; .wav for the audio");
  command.add_option("--size", options->size,
                     "Scale to WIDTHxHEIGHT; with 320x or x180 the other side follows from the aspect ratio");
  Option frames = command.add_option(
      "--frames", options->frames,
      "Only these frames, in this order: numbers and slices as in Python: 0:100:5, 3,7,-1");
  command
      .add_option("--at", options->at,
                  "Only the frames on the screen at these times of the clip's own clock: 1.5,1:30")
      .excludes(frames);
  command.add_flag("--md5", options->md5, "Print the MD5 of the pixels and nothing else");
  OptionRows(command, options->reader.given).add(reader_option_table());
  OptionRows(command, options->audio).add(audio_reader_option_table(), {"sample_rate", "num_channels"});
  add_limit_option(command);
  command.footer(
      "Pixels are written row by row without padding, plane by plane, frame after frame, as they are stored; "
      "pictures (.png, .jpg)\nof rotated clips are upright.\n\n"
      "Examples:\n  lanner decode clip.mp4 --md5\n  lanner decode clip.mp4 -o clip.yuv --format yuv420p\n"
      "  lanner decode clip.mp4 --frames 0:100:5 --format rgb24 -o - | ...\n"
      "  lanner decode clip.mp4 --frames 100 -o frame.png\n"
      "  lanner decode clip.mp4 --at 1.5,1:02:03.5 -o frame%05d.png\n"
      "  lanner decode clip.mp4 --frames ::100 --size 320x -o thumb%05d.jpg\n"
      "  lanner decode clip.mp4 -o speech.wav --sample-rate 16000 --num-channels 1");
}

} // namespace lanner::tool
