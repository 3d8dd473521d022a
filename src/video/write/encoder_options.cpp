#include "video/write/encoder_options.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace lanner {
namespace {

constexpr std::string_view tunings[] = {"",         "high_quality",      "low_latency", "ultra_low_latency",
                                        "lossless", "ultra_high_quality"};
constexpr std::string_view rate_controls[] = {"", "constqp", "vbr", "cbr"};
constexpr std::string_view passes[] = {"", "disabled", "quarter_resolution", "full_resolution"};
constexpr std::string_view slice_modes[] = {"", "macroblocks", "bytes", "rows", "count"};

template<typename Value>
void check_from(std::string_view name, Value value, std::int64_t least, std::int64_t most) {
  check(value >= least && value <= most, ErrorCode::invalid_argument, "encoder: {} {}, expected {} to {}",
        name, value, least, most);
}

void check_excludes(bool first, bool second, std::string_view line) {
  check(!first || !second, ErrorCode::invalid_argument, "encoder: {}", line);
}

void check_picture(const EncoderOptions& options, bool with_size) {
  constexpr std::int32_t most = 65536;
  const std::int32_t least = with_size ? 1 : 0;
  check(options.width >= least && options.height >= least && options.width <= most && options.height <= most,
        ErrorCode::invalid_argument, "encoder: size {}x{}, expected 1 to {} each", options.width,
        options.height, most);
  const bool no_bound = options.max_width == 0 && options.max_height == 0;
  check(no_bound || (options.max_width >= std::max(1, options.width) && options.max_width <= most &&
                     options.max_height >= std::max(1, options.height) && options.max_height <= most),
        ErrorCode::invalid_argument,
        "encoder: max_width x max_height {}x{}, expected at least the size {}x{}", options.max_width,
        options.max_height, options.width, options.height);
  check(options.rate.num > 0 && options.rate.den > 0, ErrorCode::invalid_argument,
        "encoder: rate {}/{}, expected a positive number of frames a second", options.rate.num,
        options.rate.den);
}

/// The end of the scale of `crf`.
double worst_quality(std::string_view codec) {
  for (const std::string_view name : {"h264", "hevc", "h265", "libx264", "libx264rgb", "libx265"})
    if (codec == name) return 51;
  return codec == "librav1e" ? 255 : 63;
}

void check_quality(const EncoderOptions& options) {
  check(options.bit_rate >= 0, ErrorCode::invalid_argument, "encoder: bit_rate {}, expected 0 or more",
        options.bit_rate);
  check(options.crf == -1 || (options.crf >= 0 && std::isfinite(options.crf)), ErrorCode::invalid_argument,
        "encoder: crf {:g}, expected 0 or more, or -1 for the codec's default", options.crf);
  check(options.crf <= worst_quality(options.codec), ErrorCode::invalid_argument,
        "encoder: quality {:g}, expected 0 (best) to {:g} for {}", options.crf, worst_quality(options.codec),
        options.codec);
  check(options.bit_rate == 0 || options.crf < 0, ErrorCode::invalid_argument,
        "encoder: crf {:g} and bit_rate {} exclude each other; give one", options.crf, options.bit_rate);
  check(options.gop >= 0, ErrorCode::invalid_argument, "encoder: gop {}, expected 0 or more", options.gop);
  check(options.b_frames >= -1, ErrorCode::invalid_argument,
        "encoder: b_frames {}, expected 0 or more, or -1 for the codec's default", options.b_frames);
  check(options.threads >= 0, ErrorCode::invalid_argument, "encoder: threads {}, expected 0 or more",
        options.threads);
}

void check_rates(const EncoderOptions& options) {
  constexpr std::int64_t most = 1'000'000'000'000;
  check_from("bit_rate", options.bit_rate, 0, most);
  check_from("max_bit_rate", options.max_bit_rate, 0, most);
  check_from("vbv_buffer_size", options.vbv_buffer_size, 0, most);
  check_from("vbv_initial", options.vbv_initial, 0, most);
  const RateControl control = options.rate_control;
  const bool rate = options.bit_rate > 0, quality = options.crf >= 0, qp = options.const_qp.has_value();
  check_excludes(qp, rate, "const_qp and bit_rate exclude each other; give one");
  check_excludes(qp, quality, "const_qp and crf exclude each other; give one");
  check_excludes(control == RateControl::constqp, !qp, "rate_control constqp needs const_qp");
  check_excludes(qp, control == RateControl::vbr || control == RateControl::cbr,
                 "const_qp is of rate_control constqp; leave out one of both");
  check_excludes(control == RateControl::cbr, !rate, "rate_control cbr needs bit_rate");
  check_excludes(control == RateControl::vbr, !rate && !quality, "rate_control vbr needs bit_rate, or crf");
  check(control != RateControl::cbr || options.max_bit_rate == 0 || options.max_bit_rate == options.bit_rate,
        ErrorCode::invalid_argument,
        "encoder: max_bit_rate {} beside bit_rate {} of cbr, which keeps to its rate; leave it out, or take "
        "vbr",
        options.max_bit_rate, options.bit_rate);
  check(options.max_bit_rate == 0 || options.max_bit_rate >= options.bit_rate, ErrorCode::invalid_argument,
        "encoder: max_bit_rate {}, expected bit_rate {} or more", options.max_bit_rate, options.bit_rate);
  check_excludes(options.max_bit_rate > 0, !rate && !quality, "max_bit_rate needs bit_rate, or crf");
  check_excludes(options.vbv_buffer_size > 0, bound_of_rate(options) == 0,
                 "vbv_buffer_size needs a bound of the rate: max_bit_rate, or rate_control cbr");
  check_excludes(options.hrd, options.time_scale > 0,
                 "hrd counts in ticks of the rate; leave out num_units_in_tick and time_scale");
  check_excludes(options.hrd, bound_of_rate(options) == 0,
                 "hrd needs a bound of the rate: max_bit_rate, or rate_control cbr");
  check(options.vbv_initial <= vbv_bits(options), ErrorCode::invalid_argument,
        "encoder: vbv_initial {}, expected at most the {} bits of the buffer", options.vbv_initial,
        vbv_bits(options));
}

void check_lossless(const EncoderOptions& options) {
  if (options.tuning != Tuning::lossless) return;
  check(options.bit_rate == 0 && options.crf < 0 && !options.const_qp && !options.qp_min && !options.qp_max &&
            options.rate_control == RateControl::unspecified,
        ErrorCode::invalid_argument,
        "encoder: tuning lossless keeps every sample and takes the bits that this needs; leave out bit_rate, "
        "crf, rate_control, const_qp, qp_min and qp_max");
}

void check_qps(const EncoderOptions& options) {
  const std::pair<std::string_view, const std::optional<QpByType>&> all[] = {
      {"const_qp", options.const_qp},
      {"qp_min", options.qp_min},
      {"qp_max", options.qp_max},
      {"initial_qp", options.initial_qp}};
  for (const auto& [name, qp] : all)
    for (int type = 0; qp && type < 3; ++type) check_from(name, (*qp)[type], 0, 255);
  for (int type = 0; options.qp_min && options.qp_max && type < 3; ++type)
    check((*options.qp_min)[type] <= (*options.qp_max)[type], ErrorCode::invalid_argument,
          "encoder: qp_min {} above qp_max {}", to_text(*options.qp_min), to_text(*options.qp_max));
  check_excludes(options.const_qp.has_value(), options.qp_min || options.qp_max,
                 "const_qp leaves nothing for qp_min and qp_max to bound; leave them out");
}

void check_structure(const EncoderOptions& options) {
  if (options.lookahead) check_from("lookahead", *options.lookahead, 0, 255);
  if (options.low_delay_keyframe_scale)
    check_from("low_delay_keyframe_scale", *options.low_delay_keyframe_scale, 0, 254);
  if (options.num_ref_l0) check_from("num_ref_l0", *options.num_ref_l0, 1, 16);
  if (options.num_ref_l1) check_from("num_ref_l1", *options.num_ref_l1, 1, 16);
  check(options.idr_period >= 0, ErrorCode::invalid_argument, "encoder: idr_period {}, expected 0 or more",
        options.idr_period);
  check((options.slice_mode == SliceMode::unspecified) == (options.slice_data == 0),
        ErrorCode::invalid_argument,
        "encoder: slice_mode '{}' with slice_data {}; expected both, like count and 4",
        to_string(options.slice_mode), options.slice_data);
  check(options.slice_data >= 0, ErrorCode::invalid_argument, "encoder: slice_data {}, expected 1 or more",
        options.slice_data);
  check((options.num_units_in_tick == 0) == (options.time_scale == 0), ErrorCode::invalid_argument,
        "encoder: num_units_in_tick {} with time_scale {}; expected both, like 1001 and 60000",
        options.num_units_in_tick, options.time_scale);
  check_from("num_units_in_tick", options.num_units_in_tick, 0, INT32_MAX);
  check_from("time_scale", options.time_scale, 0, INT32_MAX);
  check(options.tier.empty() || options.tier == "main" || options.tier == "high", ErrorCode::invalid_argument,
        "encoder: tier '{}', expected main or high", options.tier);
  check_excludes(!options.tier.empty(), options.level.empty(), "tier is of a level; give level too");
}

} // namespace

std::string_view to_string(Tuning tuning) noexcept {
  return tunings[static_cast<std::size_t>(tuning)];
}
std::string_view to_string(RateControl control) noexcept {
  return rate_controls[static_cast<std::size_t>(control)];
}
std::string_view to_string(Multipass multipass) noexcept {
  return passes[static_cast<std::size_t>(multipass)];
}
std::string_view to_string(SliceMode mode) noexcept {
  return slice_modes[static_cast<std::size_t>(mode)];
}
std::string_view to_string(PictureType type) noexcept {
  constexpr std::string_view names[] = {"", "I", "P", "B"};
  return names[static_cast<std::size_t>(type)];
}

std::string to_text(const QpByType& qp) {
  if (qp[0] == qp[1] && qp[1] == qp[2]) return fmt::format("{}", qp[0]);
  return fmt::format("{},{},{}", qp[0], qp[1], qp[2]);
}

std::int64_t bound_of_rate(const EncoderOptions& options) {
  if (options.max_bit_rate > 0) return options.max_bit_rate;
  return options.rate_control == RateControl::cbr ? options.bit_rate : 0;
}

std::int64_t vbv_bits(const EncoderOptions& options) {
  return options.vbv_buffer_size > 0 ? options.vbv_buffer_size : bound_of_rate(options);
}

RateControl effective_rate_control(const EncoderOptions& options) {
  if (options.rate_control != RateControl::unspecified) return options.rate_control;
  if (options.const_qp) return RateControl::constqp;
  return options.bit_rate > 0 ? RateControl::vbr : RateControl::unspecified;
}

void check_encoder_options(const EncoderOptions& options, bool with_size) {
  check_picture(options, with_size);
  check_quality(options);
  check_rates(options);
  check_lossless(options);
  check_qps(options);
  check_structure(options);
  if (options.mastering_display) parse_mastering_display(to_text(*options.mastering_display));
}

std::vector<GivenEncoderOption> given_encoder_options(const EncoderOptions& options) {
  std::vector<GivenEncoderOption> given;
  const auto note = [&](bool is_given, std::string_view name, const auto& value) {
    if (is_given) given.push_back({name, fmt::format("{}", value)});
  };
  const auto note_qp = [&](std::string_view name, const std::optional<QpByType>& qp) {
    if (qp) given.push_back({name, to_text(*qp)});
  };
  note(options.tuning != Tuning::unspecified, "tuning", to_string(options.tuning));
  note(!options.profile.empty(), "profile", options.profile);
  note(!options.level.empty(), "level", options.level);
  note(!options.tier.empty(), "tier", options.tier);
  note(options.rate_control != RateControl::unspecified, "rate_control", to_string(options.rate_control));
  note(options.max_bit_rate > 0, "max_bit_rate", options.max_bit_rate);
  note(options.vbv_buffer_size > 0, "vbv_buffer_size", options.vbv_buffer_size);
  note(options.vbv_initial > 0, "vbv_initial", options.vbv_initial);
  note_qp("const_qp", options.const_qp);
  note_qp("qp_min", options.qp_min);
  note_qp("qp_max", options.qp_max);
  note_qp("initial_qp", options.initial_qp);
  note(options.multipass > Multipass::disabled, "multipass", to_string(options.multipass));
  note(options.lookahead.has_value(), "lookahead", options.lookahead.value_or(0));
  note(options.low_delay_keyframe_scale.value_or(0) > 0, "low_delay_keyframe_scale",
       options.low_delay_keyframe_scale.value_or(0));
  note(options.spatial_aq.has_value(), "spatial_aq", options.spatial_aq.value_or(false));
  note(options.temporal_aq.has_value(), "temporal_aq", options.temporal_aq.value_or(false));
  note(options.idr_period > 0, "idr_period", options.idr_period);
  note(options.num_ref_l0.has_value(), "num_ref_l0", options.num_ref_l0.value_or(0));
  note(options.num_ref_l1.has_value(), "num_ref_l1", options.num_ref_l1.value_or(0));
  note(options.slice_mode != SliceMode::unspecified, "slice_mode", to_string(options.slice_mode));
  note(options.time_scale > 0, "time_scale", options.time_scale);
  note(options.repeat_headers.has_value(), "repeat_headers", options.repeat_headers.value_or(false));
  note(options.hrd, "hrd", true);
  note(options.mastering_display.has_value(), "mastering_display",
       to_text(options.mastering_display.value_or(MasteringDisplay())));
  note(options.content_light.has_value(), "content_light",
       options.content_light.value_or(ContentLight()).max);
  return given;
}

} // namespace lanner
