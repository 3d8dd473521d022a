// Options of an Encoder: the size of its stream and the device, beside those of every writer of video.

#include "options/common_rows.h"
#include "options/encoder_rows.h"

namespace lanner {

using Rows = OptionTable<EncoderOptions>;

static Rows stream_and_size_rows() {
  constexpr std::string_view of_file = "the container determines it";
  return {
      row<std::string, EncoderOptions>(
          {.name = "time_base",
           .help = "seconds of one tick of pts, as a fraction",
           .example = "1/90000",
           .unset = "one frame",
           .no_flag = of_file,
           .no_field = no_writer},
          [](const EncoderOptions& options) {
            const Rational& base = options.time_base;
            return base.den > 0 ? std::optional(fmt::format("{}/{}", base.num, base.den)) : std::nullopt;
          },
          [](EncoderOptions& options, const std::string& text) {
            const auto base = fraction_of(text, '/');
            check(base.has_value(), ErrorCode::invalid_argument,
                  "time_base '{}': expected a fraction of a second, like 1/90000", text);
            options.time_base = *base;
          }),
      row({.name = "global_header",
           .help =
               "codec headers are in Encoder.extradata instead of the packets, as MP4 and Matroska need them",
           .no_flag = of_file,
           .no_field = no_writer},
          &EncoderOptions::global_header),
      row({.name = "max_width",
           .help = "greatest width for reconfigure()",
           .unset = "the size is fixed",
           .no_flag = of_file,
           .no_field = no_writer},
          &EncoderOptions::max_width),
      row({.name = "max_height",
           .help = "greatest height for reconfigure()",
           .unset = "the size is fixed",
           .no_flag = of_file,
           .no_field = no_writer},
          &EncoderOptions::max_height),
  };
}

static Rows device_rows() {
  constexpr std::string_view of_files = "--encoder-device is that of files";
  constexpr std::string_view by_program = "a program that has handles passes them";
  return {
      row<std::string, EncoderOptions>(
          {.name = "device",
           .help = "where to encode: cpu, by FFmpeg, or cuda:0, by its NVENC",
           .details = "of NVENC, codec is h264, hevc or av1; docs/nvenc.md",
           .example = "cuda:0",
           .metavar = "NAME",
           .choices = {"cpu", "cuda:0"},
           .other_words = true,
           .no_flag = of_files,
           .no_field = no_writer},
          [](const EncoderOptions& options) { return options.device.to_string(); },
          [](EncoderOptions& options, const std::string& name) { options.device = Device::parse(name); }),
      row({.name = "cuda_context",
           .help = "handle of a CUcontext to encode in, where the device is a GPU",
           .unset = "the device's primary context",
           .no_flag = by_program,
           .no_field = no_writer},
          &EncoderOptions::context),
      row<void*, EncoderOptions>(
          {.name = "cuda_stream",
           .help = "handle of the CUDA stream in whose order pictures are complete and their memory is read, "
                   "where the device is a GPU",
           .unset = "pictures are complete when they are sent, and read when send() returns",
           .no_flag = by_program,
           .no_field = no_writer},
          [](const EncoderOptions& options) { return options.stream.handle; },
          [](EncoderOptions& options, void* handle) { options.stream.handle = handle; }),
  };
}

const OptionTable<EncoderOptions>& encoder_option_table() {
  static const Rows table = [] {
    Rows rows = stream_and_size_rows();
    for (auto& row : device_rows()) rows.push_back(row);
    return rows;
  }();
  return table;
}

} // namespace lanner
