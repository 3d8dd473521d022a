// Options of video readers and writers.

#include "options/common_rows.h"
#include "options/encoder_rows.h"

namespace lanner {
namespace {

using C = lanner_video_options;
using Readers = OptionTable<VideoReaderOptions>;

constexpr std::string_view upright_frames =
    "lanner_video_read() returns frames in host memory, rotated as players show them";
constexpr std::string_view by_program = "for programs that share memory or threads with the reader";
constexpr std::string_view not_in_c = "the C interface chooses";

void add_stream_rows(Readers& table) {
  table.push_back(row({.name = "stream",
                       .help = "number of the stream in the container",
                       .unset = "the video stream that a player shows",
                       .flag = "--stream",
                       .least = -1,
                       .no_field = not_in_c},
                      &VideoReaderOptions::stream));
  table.push_back(row({.name = "threads",
                       .help = "threads of each decoder",
                       .unset = "as many as keep the cores busy",
                       .flag = "--threads",
                       .most = 256},
                      &VideoReaderOptions::decoder, &DecoderOptions::threads, field("threads", &C::threads)));
  table.push_back(row<std::string, VideoReaderOptions>(
      {.name = "device",
       .help = "where to decode: cpu, cuda:0, or auto, a GPU that can decode it, else the CPU",
       .example = "cuda:0",
       .flag = "--device",
       .metavar = "NAME",
       .choices = {"auto", "cpu", "cuda:0"},
       .other_words = true,
       .no_field = upright_frames},
      [](const VideoReaderOptions& options) {
        return options.decoder.device ? options.decoder.device->to_string() : std::string("auto");
      },
      [](VideoReaderOptions& options, const std::string& name) {
        options.decoder.device = name == "auto" ? std::nullopt : std::optional(Device::parse(name));
      }));
  table.push_back(row<std::string, VideoReaderOptions>(
      {.name = "output",
       .help = "device whose memory holds the frames",
       .example = "cpu",
       .unset = "where they are decoded",
       .no_flag = "frames are written from host memory",
       .no_field = upright_frames},
      [](const VideoReaderOptions& options) {
        const auto& device = options.decoder.output;
        return device ? std::optional(device->to_string()) : std::nullopt;
      },
      [](VideoReaderOptions& options, const std::string& name) {
        options.decoder.output = Device::parse(name);
      }));
}

void add_work_rows(Readers& table) {
  table.push_back(row({.name = "decoders",
                       .help = "decoders that work on one file at the same time",
                       .unset = "by cores, decoding engines of the GPU and distance of keyframes",
                       .flag = "--decoders",
                       .no_field = not_in_c},
                      &VideoReaderOptions::decoders));
  table.push_back(row({.name = "prefetch",
                       .help = "frames decoded ahead of an iteration, on another thread",
                       .no_flag = "subcommands decode ahead as they need it",
                       .no_field = not_in_c},
                      &VideoReaderOptions::prefetch));
  table.push_back(row({.name = "rotate",
                       .help = "rotate and mirror frames as players do",
                       .flag = "--rotate",
                       .no_field = upright_frames},
                      &VideoReaderOptions::rotate));
  table.push_back(row<std::string, VideoReaderOptions>(
      {.name = "format",
       .help = "pixel format to convert frames to: yuv420p, nv12, rgb24, rgb_planar, gray8 and others",
       .example = "rgb24",
       .unset = "the stream's own",
       .flag = "--format",
       .metavar = "NAME",
       .no_field = "lanner_image_to_tensor() converts"},
      [](const VideoReaderOptions& options) {
        return options.format ? std::optional(std::string(to_string(*options.format))) : std::nullopt;
      },
      [](VideoReaderOptions& options, const std::string& name) {
        options.format = parse_pixel_format(name);
      }));
  table.push_back(row({.name = "preprocess",
                       .help = "also make Frame.tensor with this preprocessing, on the decoding thread",
                       .no_flag = "frames are written as pixels",
                       .no_field = "lanner_image_to_tensor() converts"},
                      &VideoReaderOptions::preprocess));
}

void add_decoder_rows(Readers& table) {
  table.push_back(row(
      {.name = "raise_on_error",
       .help = "damage in the clip is an error",
       .details = "else it is concealed, the frame is marked as corrupt, and unreadable data ends the clip",
       .flag = "--conceal",
       .flag_value = false,
       .flag_help = "conceal damage in a clip, and end it at unreadable data; without it damage is an error"},
      &VideoReaderOptions::decoder, &DecoderOptions::raise_on_error,
      flag_field("raise_on_error", &C::raise_on_error)));
  table.push_back(row({.name = "sei",
                       .help = "collect SEI messages in Frame.sei",
                       .no_flag = "subcommands show none",
                       .no_field = "the C interface gives none"},
                      &VideoReaderOptions::decoder, &DecoderOptions::sei));
  table.push_back(row<std::string, VideoReaderOptions>(
      {.name = "latency",
       .help = "latency of frames: normal, or low, which returns each as soon as it is decoded",
       .details = "with low nothing is decoded ahead, so that prefetch and decoders are not accepted",
       .example = "low",
       .choices = {"normal", "low"},
       .no_flag = "of use to programs only",
       .no_field = not_in_c},
      [](const VideoReaderOptions& options) {
        return std::string(options.decoder.latency == Latency::low ? "low" : "normal");
      },
      [](VideoReaderOptions& options, const std::string& name) {
        check(name == "low" || name == "normal", ErrorCode::invalid_argument,
              "latency: '{}' is not one of normal, low", name);
        options.decoder.latency = name == "low" ? Latency::low : Latency::normal;
      }));
  table.push_back(row({.name = "cuda_context",
                       .help = "handle of a CUcontext to decode in, where the device is a GPU",
                       .unset = "the device's primary context",
                       .no_flag = by_program,
                       .no_field = upright_frames},
                      &VideoReaderOptions::decoder, &DecoderOptions::context));
  table.push_back(row<void*, VideoReaderOptions>(
      {.name = "cuda_stream",
       .help = "handle of the CUDA stream in whose order frames are complete, where the device or the output "
               "is a "
               "GPU",
       .unset = "the decoder's own stream",
       .no_flag = by_program,
       .no_field = upright_frames},
      [](const VideoReaderOptions& options) { return options.decoder.stream.handle; },
      [](VideoReaderOptions& options, void* handle) { options.decoder.stream.handle = handle; }));
}

void add_memory_rows(Readers& table) {
  table.push_back(row({.name = "frame_bytes",
                       .help = "limit on the memory of decoded frames that wait to be read",
                       .example = "512MiB",
                       .unset = "by the machine's memory",
                       .no_flag = "`--limit total_bytes=...` bounds it",
                       .no_field = "`limits` bounds it"},
                      &VideoReaderOptions::frame_bytes));
  table.push_back(
      row({.name = "cache_index",
           .help = "keep the index in the user's cache folder, so that the next reader need not make it",
           .no_flag = "LANNER_CACHE_DIR says where",
           .no_field = not_in_c},
          &VideoReaderOptions::cache_index));
  table.push_back(row({.name = "index",
                       .help = "index of the same clip, from another reader",
                       .no_flag = by_program,
                       .no_field = "the C interface has no indexes"},
                      &VideoReaderOptions::index));
  table.push_back(row<Limits, VideoReaderOptions>(
      limits_info(), [](const VideoReaderOptions& options) { return options.decoder.limits; },
      [](VideoReaderOptions& options, const Limits& limits) {
        options.demuxer.limits = options.decoder.limits = limits;
      },
      limits_field<C>()));
}

} // namespace

const OptionTable<VideoReaderOptions>& reader_option_table() {
  static const Readers table = [] {
    Readers made;
    for (const auto add : {add_stream_rows, add_work_rows, add_decoder_rows, add_memory_rows}) add(made);
    return made;
  }();
  return table;
}

/// What is written.
static OptionTable<EncoderOptions> clip_rows() {
  constexpr std::string_view of_clip = "`lanner transcode` keeps the clip's";
  return {
      row({.name = "width",
           .help = "width of the video in pixels",
           .required = true,
           .no_flag = of_clip,
           .no_field = no_writer},
          &EncoderOptions::width),
      row({.name = "height",
           .help = "height of the video in pixels",
           .required = true,
           .no_flag = of_clip,
           .no_field = no_writer},
          &EncoderOptions::height),
      row<double, EncoderOptions>(
          {.name = "fps",
           .help = "frames per second",
           .details = "frame i is shown from i / fps seconds on",
           .example = "25",
           .no_flag = of_clip,
           .no_field = no_writer},
          [](const EncoderOptions& options) { return options.rate.to_double(); },
          [](EncoderOptions& options, double rate) { options.rate = parse_frame_rate(rate); }),
      row({.name = "codec",
           .help = "codec: h264, hevc, av1, vp9, mpeg4, mjpeg, ffv1, gif, apng, webp, or the name of one of "
                   "FFmpeg's encoders",
           .example = "hevc",
           .flag = "--codec",
           .short_flag = "-c",
           .metavar = "NAME",
           .choices = {"h264", "hevc", "av1", "vp9", "mpeg4", "mjpeg", "ffv1", "gif", "apng", "webp"},
           .other_words = true,
           .no_field = no_writer},
          &EncoderOptions::codec),
  };
}

/// How it is encoded.
static OptionTable<EncoderOptions> rate_rows() {
  return {
      row({.name = "crf",
           .help = "constant quality on the codec's own scale, lower is better (h264: 0 to 51, 23 is usual)",
           .example = "28",
           .unset = "the codec's own",
           .flag = "--crf",
           .no_field = no_writer},
          &EncoderOptions::crf),
      row({.name = "bit_rate",
           .help = "average bit rate, instead of constant quality",
           .details = "an error together with crf or a lossless codec",
           .example = "4M",
           .unset = "by crf",
           .flag = "--bit-rate",
           .short_flag = "-b",
           .metavar = "BITS",
           .no_field = no_writer},
          &EncoderOptions::bit_rate),
      row({.name = "preset",
           .help =
               "speed against size: P1 (fast, large) to P7, ultrafast to placebo of x264 and x265, or the "
               "codec's own name",
           .details = "docs/encoder-presets.md says what P1 to P7 mean for each codec",
           .example = "slow",
           .unset = "the codec's own",
           .flag = "--preset",
           .other_flag = "--codec-preset",
           .metavar = "NAME",
           .no_field = no_writer},
          &EncoderOptions::preset),
      row({.name = "gop",
           .help = "most frames from one keyframe to the next",
           .unset = "the codec's own",
           .flag = "--gop",
           .no_field = no_writer},
          &EncoderOptions::gop),
      row({.name = "threads",
           .help = "threads of the codec",
           .unset = "chosen by the codec",
           .flag = "--threads",
           .other_flag = "--codec-threads",
           .most = 256,
           .no_field = no_writer},
          &EncoderOptions::threads),
  };
}

static OptionRow<EncoderOptions> encoder_device_row() {
  return row<std::string, EncoderOptions>(
      {.name = "encoder_device",
       .help = "where to encode: cpu, by FFmpeg, or cuda:0, by its NVENC",
       .details = "of NVENC, codec is h264, hevc or av1; docs/nvenc.md",
       .example = "cuda:0",
       .flag = "--encoder-device",
       .metavar = "NAME",
       .choices = {"cpu", "cuda:0"},
       .other_words = true,
       .no_field = no_writer},
      [](const EncoderOptions& options) { return options.device.to_string(); },
      [](EncoderOptions& options, const std::string& name) { options.device = Device::parse(name); });
}

const OptionTable<EncoderOptions>& writer_option_table() {
  static const OptionTable<EncoderOptions> table = [] {
    OptionTable<EncoderOptions> rows = clip_rows();
    for (auto& row : rate_rows()) rows.push_back(row);
    rows = with_encoder_rows(std::move(rows));
    rows.push_back(encoder_device_row());
    return rows;
  }();
  return table;
}

} // namespace lanner
