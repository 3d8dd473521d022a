#include "options/encoder_rows.h"

#include <charconv>
#include <span>

#include <lanner/nearest.h>
#include <lanner/raw_image.h>

#include "base/text/joined.h"
#include "image/code_points.h"
#include "options/common_rows.h"
#include "video/write/encoder_options.h"

namespace lanner {

std::optional<Rational> fraction_of(const std::string& text, char separator) {
  Rational value;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, value.num);
  const bool parted = first.ec == std::errc{} && first.ptr != end && *first.ptr == separator;
  const auto second = std::from_chars(parted ? first.ptr + 1 : end, end, value.den);
  const bool whole = parted && second.ec == std::errc{} && second.ptr == end;
  const bool positive = value.num > 0 && value.den > 0 && value.num <= INT32_MAX && value.den <= INT32_MAX;
  return whole && positive ? std::optional(value) : std::nullopt;
}

namespace {

using Rows = OptionTable<EncoderOptions>;
constexpr std::string_view of_clip = "`lanner transcode` keeps the clip's";
constexpr std::string_view codecs_own = "the codec's own";

/// The value whose name it is; those without one are not meant. Throws Error{invalid_argument}.
template<typename Enum>
Enum value_named(std::string_view option, std::string_view name, Enum last) {
  std::vector<std::string> known;
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    const auto value = static_cast<Enum>(i);
    if (to_string(value).empty()) continue;
    if (to_string(value) == name) return value;
    known.emplace_back(to_string(value));
  }
  fail(ErrorCode::invalid_argument, "{} '{}': expected one of {}{}", option, name, joined(known, ", "),
       did_you_mean(name, known));
}

template<typename Enum>
OptionRow<EncoderOptions> names_row(OptionInfo info, Enum EncoderOptions::*member, Enum last) {
  const std::string_view option = info.name;
  info.no_field = no_writer;
  return row<std::string, EncoderOptions>(
      std::move(info),
      [member](const EncoderOptions& options) {
        const std::string_view name = to_string(options.*member);
        return name.empty() ? std::nullopt : std::optional(std::string(name));
      },
      [=](EncoderOptions& options, const std::string& name) {
        options.*member = value_named(option, name, last);
      });
}

std::uint8_t code_named(std::string_view option, std::string_view name, std::span<const CodePoint> points) {
  std::vector<std::string> known;
  for (const CodePoint& point : points) {
    if (point.name == name) return point.code;
    known.emplace_back(point.name);
  }
  fail(ErrorCode::invalid_argument, "{} '{}': expected one of {}{}", option, name, joined(known, ", "),
       did_you_mean(name, known));
}

std::string name_of(std::uint8_t code, std::span<const CodePoint> points) {
  for (const CodePoint& point : points)
    if (point.code == code) return std::string(point.name);
  return fmt::format("{}", code);
}

OptionRow<EncoderOptions> code_row(OptionInfo info, std::uint8_t ColorInfo::*member,
                                   std::span<const CodePoint> points) {
  const std::string_view option = info.name;
  info.no_flag = of_clip;
  info.no_field = no_writer;
  return row<std::string, EncoderOptions>(
      std::move(info), [=](const EncoderOptions& options) { return name_of(options.color.*member, points); },
      [=](EncoderOptions& options, const std::string& name) {
        options.color.*member = code_named(option, name, points);
      });
}

void add_picture_rows(Rows& table) {
  table.push_back(row<std::string, EncoderOptions>(
      {.name = "format",
       .help = "pixel format to encode, or the nearest that the codec supports, by Lanner's name or NVENC's",
       .details =
           "NV12, YV12, IYUV, YUV420P, YUV444, YUV444_16BIT, YUV444_10BIT, NV16, P010, P210, ARGB, ABGR, "
           "ARGB10, ABGR10 in upper or lower case; samples of 16 bits are encoded with 10",
       .example = "yuv444p",
       .unset = "the clip's own where one is transcoded, else yuv420p",
       .flag = "--pixel-format",
       .no_field = no_writer},
      [](const EncoderOptions& options) { return std::string(to_string(options.format)); },
      [](EncoderOptions& options, const std::string& name) {
        options.format = parse_raw_format(name).format;
      }));
  table.push_back(row<std::string, EncoderOptions>(
      {.name = "color_matrix",
       .help = "matrix between RGB and YUV: bt601, bt709, bt2020, fcc, smpte240m, ycgco",
       .example = "bt709",
       .unset = "that of the first picture, else bt709 from 720 lines on, bt601 below",
       .no_flag = of_clip,
       .no_field = no_writer},
      [](const EncoderOptions& options) { return std::string(to_string(options.color.matrix)); },
      [](EncoderOptions& options, const std::string& name) {
        options.color.matrix = value_named("color_matrix", name, ColorMatrix::bt2020c);
      }));
  table.push_back(row<std::string, EncoderOptions>(
      {.name = "color_range",
       .help = "limited (16 to 235) or full (0 to 255)",
       .example = "full",
       .unset = "limited for YUV",
       .no_flag = of_clip,
       .no_field = no_writer},
      [](const EncoderOptions& options) { return std::string(to_string(options.color.range)); },
      [](EncoderOptions& options, const std::string& name) {
        options.color.range = value_named("color_range", name, ColorRange::full);
      }));
  table.push_back(code_row({.name = "color_primaries",
                            .help = "primaries, by FFmpeg's name: bt709, bt2020, smpte432 and others",
                            .example = "bt2020"},
                           &ColorInfo::primaries, primaries_points));
  table.push_back(
      code_row({.name = "color_transfer",
                .help = "transfer, by FFmpeg's name: bt709, smpte2084 (PQ), arib-std-b67 (HLG) and "
                        "others",
                .example = "smpte2084"},
               &ColorInfo::transfer, transfer_points));
}

void add_shape_rows(Rows& table) {
  table.push_back(row<std::string, EncoderOptions>(
      {.name = "chroma_siting",
       .help = "position of chroma samples: left, center, top_left, top, bottom_left, bottom",
       .details = "AV1 supports left and top_left only",
       .example = "left",
       .no_flag = of_clip,
       .no_field = no_writer},
      [](const EncoderOptions& options) { return std::string(to_string(options.color.siting)); },
      [](EncoderOptions& options, const std::string& name) {
        options.color.siting = value_named("chroma_siting", name, ChromaSiting::bottom);
      }));
  table.push_back(row<std::string, EncoderOptions>(
      {.name = "sample_aspect",
       .help = "pixel aspect ratio, width to height",
       .example = "4:3",
       .no_flag = of_clip,
       .no_field = no_writer},
      [](const EncoderOptions& options) {
        return fmt::format("{}:{}", options.sample_aspect.num, options.sample_aspect.den);
      },
      [](EncoderOptions& options, const std::string& text) {
        const auto aspect = fraction_of(text, ':');
        check(aspect.has_value(), ErrorCode::invalid_argument,
              "sample_aspect '{}': expected width and height of a pixel, like 4:3", text);
        options.sample_aspect = *aspect;
      }));
}

void add_hdr_rows(Rows& table) {
  table.push_back(row<std::string, EncoderOptions>(
      {.name = "mastering_display",
       .help = "display that the pictures were graded on: CIE coordinates, candela per square metre",
       .example = "G(0.265,0.69)B(0.15,0.06)R(0.68,0.32)WP(0.3127,0.329)L(1000,0.0001)",
       .flag = "--mastering-display",
       .metavar = "DISPLAY",
       .no_field = no_writer},
      [](const EncoderOptions& options) {
        return options.mastering_display ? std::optional(to_text(*options.mastering_display)) : std::nullopt;
      },
      [](EncoderOptions& options, const std::string& text) {
        options.mastering_display = parse_mastering_display(text);
      }));
  table.push_back(row<std::string, EncoderOptions>(
      {.name = "content_light",
       .help = "greatest light level of a pixel and greatest mean of a picture (MaxCLL, MaxFALL), candela "
               "per square metre",
       .example = "1000,400",
       .flag = "--content-light",
       .metavar = "MAX,AVERAGE",
       .no_field = no_writer},
      [](const EncoderOptions& options) {
        const auto& light = options.content_light;
        return light ? std::optional(fmt::format("{},{}", light->max, light->average)) : std::nullopt;
      },
      [](EncoderOptions& options, const std::string& text) {
        ContentLight light;
        const char* end = text.data() + text.size();
        const auto first = std::from_chars(text.data(), end, light.max);
        const bool comma = first.ec == std::errc{} && first.ptr != end && *first.ptr == ',';
        const auto second = std::from_chars(comma ? first.ptr + 1 : end, end, light.average);
        check(comma && second.ec == std::errc{} && second.ptr == end && light.average <= light.max,
              ErrorCode::invalid_argument,
              "content_light '{}': expected MaxCLL and MaxFALL from 0 to 65535, like 1000,400", text);
        options.content_light = light;
      }));
}

void add_purpose_rows(Rows& table) {
  table.push_back(names_row(
      {.name = "tuning",
       .help = "purpose of the encoding: high_quality, low_latency, ultra_low_latency, lossless, "
               "ultra_high_quality",
       .details = "docs/encoder-presets.md lists the settings; lossless keeps every sample of `format`",
       .example = "low_latency",
       .flag = "--tuning",
       .metavar = "NAME",
       .choices = {"high_quality", "low_latency", "ultra_low_latency", "lossless", "ultra_high_quality"}},
      &EncoderOptions::tuning, Tuning::ultra_high_quality));
  table.push_back(row({.name = "profile",
                       .help = "profile of the codec, the features that decoders must support: baseline, "
                               "main, high, main10 and others",
                       .example = "main",
                       .flag = "--codec-profile",
                       .no_field = no_writer},
                      &EncoderOptions::profile));
  table.push_back(row({.name = "level",
                       .help = "level of the codec; sizes and rates beyond it are an error",
                       .example = "4.1",
                       .flag = "--codec-level",
                       .metavar = "LEVEL",
                       .no_field = no_writer},
                      &EncoderOptions::level));
  table.push_back(row<std::string, EncoderOptions>(
      {.name = "tier",
       .help = "tier of the level, for HEVC and AV1: main or high",
       .example = "high",
       .flag = "--codec-tier",
       .choices = {"main", "high"},
       .no_field = no_writer},
      [](const EncoderOptions& options) {
        return options.tier.empty() ? std::nullopt : std::optional(options.tier);
      },
      [](EncoderOptions& options, const std::string& name) { options.tier = name; }));
}

void add_rate_rows(Rows& table) {
  table.push_back(names_row({.name = "rate_control",
                             .help = "rate control: constqp, vbr, cbr",
                             .example = "cbr",
                             .unset = "constqp with const_qp, vbr with bit_rate, else constant quality",
                             .flag = "--rate-control",
                             .choices = {"constqp", "vbr", "cbr"}},
                            &EncoderOptions::rate_control, RateControl::cbr));
  table.push_back(row({.name = "max_bit_rate",
                       .help = "maximum bit rate, for vbr or as a cap on constant quality",
                       .example = "6M",
                       .unset = "none",
                       .flag = "--max-bit-rate",
                       .metavar = "BITS",
                       .no_field = no_writer},
                      &EncoderOptions::max_bit_rate));
  table.push_back(row({.name = "vbv_buffer_size",
                       .help = "size of the decoder's buffer, with a maximum rate",
                       .example = "2M",
                       .unset = "one second at the maximum rate",
                       .flag = "--vbv-buffer-size",
                       .metavar = "BITS",
                       .no_field = no_writer,
                       .kind = OptionKind::bits},
                      &EncoderOptions::vbv_buffer_size));
  table.push_back(row({.name = "vbv_initial",
                       .help = "fullness of that buffer when decoding begins",
                       .example = "1M",
                       .unset = codecs_own,
                       .flag = "--vbv-initial",
                       .metavar = "BITS",
                       .no_field = no_writer,
                       .kind = OptionKind::bits},
                      &EncoderOptions::vbv_initial));
  table.push_back(
      row({.name = "hrd",
           .help = "write the parameters of the hypothetical reference decoder, for H.264 and HEVC",
           .flag = "--hrd",
           .no_field = no_writer},
          &EncoderOptions::hrd));
}

void add_qp_rows(Rows& table) {
  const auto add = [&](std::string_view name, std::string_view help, std::string_view flag, auto member) {
    table.push_back(row({.name = name,
                         .help = help,
                         .details = "one number, or one each for I, P and B pictures",
                         .example = "20,22,24",
                         .flag = flag,
                         .metavar = "QP",
                         .no_field = no_writer},
                        member));
  };
  add("const_qp", "quantisation parameter of each picture, on the codec's own scale", "--qp",
      &EncoderOptions::const_qp);
  add("qp_min", "least quantisation parameter", "--qp-min", &EncoderOptions::qp_min);
  add("qp_max", "greatest quantisation parameter", "--qp-max", &EncoderOptions::qp_max);
  add("initial_qp", "quantisation parameter of the first pictures, NVENC only", "--initial-qp",
      &EncoderOptions::initial_qp);
}

void add_analysis_rows(Rows& table) {
  table.push_back(names_row({.name = "multipass",
                             .help = "two encoding passes for each picture: disabled, or the first pass at "
                                     "quarter_resolution or full_resolution, NVENC only",
                             .example = "full_resolution",
                             .flag = "--multipass",
                             .choices = {"disabled", "quarter_resolution", "full_resolution"}},
                            &EncoderOptions::multipass, Multipass::full_resolution));
  table.push_back(row({.name = "lookahead",
                       .help = "number of pictures that rate control looks ahead",
                       .example = "20",
                       .unset = codecs_own,
                       .flag = "--lookahead",
                       .most = 255,
                       .no_field = no_writer},
                      &EncoderOptions::lookahead));
  table.push_back(
      row({.name = "low_delay_keyframe_scale",
           .help = "size of keyframes relative to other pictures in low-latency encoding, NVENC only",
           .example = "2",
           .flag = "--low-delay-keyframe-scale",
           .most = 254,
           .no_field = no_writer},
          &EncoderOptions::low_delay_keyframe_scale));
  table.push_back(row({.name = "spatial_aq",
                       .help = "adapt quantisation to the detail of each block",
                       .unset = codecs_own,
                       .flag = "--spatial-aq",
                       .no_field = no_writer},
                      &EncoderOptions::spatial_aq));
  table.push_back(row({.name = "temporal_aq",
                       .help = "adapt quantisation to how much later pictures refer to each block",
                       .unset = codecs_own,
                       .flag = "--temporal-aq",
                       .no_field = no_writer},
                      &EncoderOptions::temporal_aq));
}

void add_structure_rows(Rows& table) {
  table.push_back(row({.name = "b_frames",
                       .help = "most B-frames in a row",
                       .example = "2",
                       .unset = codecs_own,
                       .flag = "--b-frames",
                       .no_field = no_writer},
                      &EncoderOptions::b_frames));
  table.push_back(row({.name = "idr_period",
                       .help = "frames from one IDR to the next, without keyframes in between",
                       .unset = "at most gop",
                       .flag = "--idr-period",
                       .no_field = no_writer},
                      &EncoderOptions::idr_period));
  table.push_back(row({.name = "num_ref_l0",
                       .help = "most reference pictures in list 0",
                       .example = "4",
                       .unset = codecs_own,
                       .flag = "--num-ref-l0",
                       .least = 1,
                       .most = 16,
                       .no_field = no_writer},
                      &EncoderOptions::num_ref_l0));
  table.push_back(row({.name = "num_ref_l1",
                       .help = "most reference pictures in list 1, NVENC only",
                       .example = "2",
                       .unset = codecs_own,
                       .flag = "--num-ref-l1",
                       .least = 1,
                       .most = 16,
                       .no_field = no_writer},
                      &EncoderOptions::num_ref_l1));
  table.push_back(names_row({.name = "slice_mode",
                             .help = "unit of slice_data: macroblocks, bytes or rows of macroblocks in each "
                                     "slice, or count, the number of slices in a picture",
                             .example = "count",
                             .flag = "--slice-mode",
                             .choices = {"macroblocks", "bytes", "rows", "count"}},
                            &EncoderOptions::slice_mode, SliceMode::count));
  table.push_back(row({.name = "slice_data",
                       .help = "number in the unit of slice_mode",
                       .example = "4",
                       .unset = codecs_own,
                       .flag = "--slice-data",
                       .no_field = no_writer},
                      &EncoderOptions::slice_data));
}

void add_stream_rows(Rows& table) {
  table.push_back(row({.name = "num_units_in_tick",
                       .help = "VUI timing of H.264 and HEVC, with time_scale; written in lowest terms",
                       .example = "1001",
                       .unset = "by the rate",
                       .flag = "--num-units-in-tick",
                       .no_field = no_writer},
                      &EncoderOptions::num_units_in_tick));
  table.push_back(row({.name = "time_scale",
                       .help = "VUI timing: time_scale / num_units_in_tick is the number of ticks per second",
                       .example = "60000",
                       .unset = "by the rate",
                       .flag = "--time-scale",
                       .no_field = no_writer},
                      &EncoderOptions::time_scale));
  table.push_back(row({.name = "repeat_headers",
                       .help = "parameter sets before each IDR",
                       .details = "else (Python: False) before the first one only",
                       .unset = "as the container needs it; without a container, before each",
                       .flag = "--repeat-headers",
                       .no_field = no_writer},
                      &EncoderOptions::repeat_headers));
  table.push_back(row<NamedTexts, EncoderOptions>(
      {.name = "codec_options",
       .help = "options of FFmpeg's encoder by its own names",
       .details = "unknown options, and those that duplicate an option here, are an error",
       .example = "tune=film",
       .flag = "--codec-option",
       .metavar = "NAME=VALUE",
       .no_field = no_writer},
      [](const EncoderOptions& options) {
        return NamedTexts(options.codec_options.begin(), options.codec_options.end());
      },
      [](EncoderOptions& options, const NamedTexts& texts) {
        for (const auto& [name, text] : texts) options.codec_options.insert_or_assign(name, text);
      }));
}

} // namespace

OptionTable<EncoderOptions> with_encoder_rows(OptionTable<EncoderOptions> table) {
  for (const auto add : {add_picture_rows, add_shape_rows, add_purpose_rows, add_rate_rows, add_qp_rows,
                         add_analysis_rows, add_structure_rows, add_stream_rows, add_hdr_rows})
    add(table);
  return table;
}

} // namespace lanner
