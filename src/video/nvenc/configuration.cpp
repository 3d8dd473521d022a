// Preset, size, rate control and quantisers.

#include "video/nvenc/configuration.h"

#include <cmath>
#include <numeric>
#include <optional>

#include "base/check.h"
#include "video/write/encoder_options.h"

namespace lanner::nvenc {
namespace {

constexpr int default_preset = 4;

/// 1 of `P1` to 7 of `P7`; nothing for another name.
std::optional<int> preset_number(std::string_view name) {
  if (name.empty()) return default_preset;
  const bool named = name.size() == 2 && (name[0] == 'P' || name[0] == 'p');
  if (!named || name[1] < '1' || name[1] > '7') return std::nullopt;
  return name[1] - '0';
}

/// Of Tuning; those that NVENC's version does not have are refused before.
NV_ENC_TUNING_INFO tuning_info(Tuning tuning) {
  switch (tuning) {
  case Tuning::low_latency:
    return NV_ENC_TUNING_INFO_LOW_LATENCY;
  case Tuning::ultra_low_latency:
    return NV_ENC_TUNING_INFO_ULTRA_LOW_LATENCY;
  case Tuning::lossless:
    return NV_ENC_TUNING_INFO_LOSSLESS;
  default:
    return NV_ENC_TUNING_INFO_HIGH_QUALITY;
  }
}

/// What constant quality is without a number: that of x264, x265 and SVT-AV1.
constexpr double default_quality(Codec codec) {
  return codec == Codec::h264 ? 23 : codec == Codec::hevc ? 28 : 35;
}

/// A fraction in lowest terms that fits into 32 bits; nothing if it does not.
std::optional<std::pair<uint32_t, uint32_t>> lowest_terms(std::int64_t num, std::int64_t den) {
  const std::int64_t divisor = std::gcd(num, den);
  if (divisor <= 0 || num / divisor > UINT32_MAX || den / divisor > UINT32_MAX) return std::nullopt;
  return std::pair(static_cast<uint32_t>(num / divisor), static_cast<uint32_t>(den / divisor));
}

} // namespace

NV_ENC_BFRAME_REF_MODE Configuration::b_references() const {
  switch (codec) {
  case Codec::h264:
    return config.encodeCodecConfig.h264Config.useBFramesAsRef;
  case Codec::hevc:
    return config.encodeCodecConfig.hevcConfig.useBFramesAsRef;
  case Codec::av1:
    return config.encodeCodecConfig.av1Config.useBFramesAsRef;
  }
  return NV_ENC_BFRAME_REF_MODE_DISABLED;
}

ColorInfo complete_color(ColorInfo color, std::int32_t height) {
  if (color.range == ColorRange::unspecified) color.range = ColorRange::limited;
  if (color.matrix == ColorMatrix::unspecified || color.matrix == ColorMatrix::rgb)
    color.matrix = height >= 720 ? ColorMatrix::bt709 : ColorMatrix::bt601;
  return color;
}

Codec codec_named(std::string_view name) {
  if (name == "h265") name = name_of(Codec::hevc);
  for (const Codec codec : all_codecs)
    if (name_of(codec) == name) return codec;
  fail(ErrorCode::unsupported, "encoder nvenc: no codec '{}'; expected h264, hevc or av1, or {}", name,
       software_remedy);
}

Configuration configure(const Session& session, const EncoderOptions& options) {
  return Configurator(session, options).made();
}

Configurator::Configurator(const Session& session, const EncoderOptions& options)
    : session_(session), options_(options), codec_(codec_named(options.codec)) {}

Configuration Configurator::made() {
  check_without_effect();
  start_from_preset();
  set_size();
  set_stored();
  set_rate_control();
  set_quantisers();
  set_analysis();
  set_period();
  set_b_frames();
  set_references();
  set_slices();
  set_headers();
  set_color();
  set_timing();
  set_profile();
  set_level();
  return made_;
}

void Configurator::refuse(ErrorCode code, std::string_view line) const {
  fail(code, "encoder nvenc {}: {}", name_of(codec_), line);
}

bool Configurator::constant_qp() const {
  return effective_rate_control(options_) == RateControl::constqp;
}

void Configurator::check_without_effect() const {
  require_here(options_.threads == 0, "threads {}: the GPU encodes; leave it out", options_.threads);
  require_here(options_.codec_options.empty(),
               "codec_options {}: they are of FFmpeg's encoders; leave them out",
               options_.codec_options.empty() ? "" : options_.codec_options.begin()->first);
  require_here(
      options_.tuning != Tuning::ultra_high_quality,
      "tuning ultra_high_quality: it is of version 12.2 of the API, this is {}.{}; high_quality with "
      "preset P7 is the best here",
      api_major, api_minor);
  require(preset_number(options_.preset).has_value(), "preset '{}', expected P1 to P7", options_.preset);
}

void Configurator::start_from_preset() {
  require_here(session_.has(codec_), "{} does not encode it; take another codec, or {}",
               session_.gpu().name(), software_remedy);
  require_here(
      !lossless() || has(NV_ENC_CAPS_SUPPORT_LOSSLESS_ENCODE),
      "tuning lossless: {} has no lossless mode of it; hevc may, and FFmpeg's encoders on device cpu",
      session_.gpu().name());
  const int number = *preset_number(options_.preset);
  const NV_ENC_TUNING_INFO tuning = tuning_info(options_.tuning);
  made_.codec = codec_;
  made_.init = versioned<NV_ENC_INITIALIZE_PARAMS>();
  made_.config = session_.preset(codec_, number, tuning);
  static constexpr GUID presets[] = {NV_ENC_PRESET_P1_GUID, NV_ENC_PRESET_P2_GUID, NV_ENC_PRESET_P3_GUID,
                                     NV_ENC_PRESET_P4_GUID, NV_ENC_PRESET_P5_GUID, NV_ENC_PRESET_P6_GUID,
                                     NV_ENC_PRESET_P7_GUID};
  made_.init.encodeGUID = guid_of(codec_);
  made_.init.presetGUID = presets[number - 1];
  made_.init.tuningInfo = tuning;
  made_.init.enablePTD = 1;
  made_.low_latency = options_.tuning == Tuning::low_latency || options_.tuning == Tuning::ultra_low_latency;
}

void Configurator::set_size() {
  NV_ENC_INITIALIZE_PARAMS& init = made_.init;
  const int least_width = session_.capability(codec_, NV_ENC_CAPS_WIDTH_MIN),
            least_height = session_.capability(codec_, NV_ENC_CAPS_HEIGHT_MIN),
            most_width = session_.capability(codec_, NV_ENC_CAPS_WIDTH_MAX),
            most_height = session_.capability(codec_, NV_ENC_CAPS_HEIGHT_MAX);
  const auto fits = [&](std::int32_t width, std::int32_t height) {
    return width >= least_width && height >= least_height && width <= most_width && height <= most_height;
  };
  require_here(fits(options_.width, options_.height), "size {}x{}, {} encodes {}x{} to {}x{}; {}",
               options_.width, options_.height, session_.gpu().name(), least_width, least_height, most_width,
               most_height, software_remedy);
  init.encodeWidth = static_cast<uint32_t>(options_.width);
  init.encodeHeight = static_cast<uint32_t>(options_.height);
  if (options_.max_width > 0) {
    require_here(fits(options_.max_width, options_.max_height),
                 "max_width x max_height {}x{}, {} encodes at most {}x{}", options_.max_width,
                 options_.max_height, session_.gpu().name(), most_width, most_height);
    require_here(has(NV_ENC_CAPS_SUPPORT_DYN_RES_CHANGE),
                 "max_width {}: {} changes no size while it encodes; make an encoder for each size",
                 options_.max_width, session_.gpu().name());
    init.maxEncodeWidth = static_cast<uint32_t>(options_.max_width);
    init.maxEncodeHeight = static_cast<uint32_t>(options_.max_height);
  }
  const auto rate = lowest_terms(options_.rate.num, options_.rate.den);
  require(rate.has_value(), "rate {}/{}, expected numbers of 32 bits", options_.rate.num, options_.rate.den);
  std::tie(init.frameRateNum, init.frameRateDen) = *rate;
  const Rational& aspect = options_.sample_aspect;
  if (aspect.num == aspect.den || aspect.num <= 0 || aspect.den <= 0) return;
  const auto shown = lowest_terms(aspect.num * options_.width, aspect.den * options_.height);
  require(shown.has_value() && aspect.num < 65536 && aspect.den < 65536,
          "sample_aspect {}:{}, expected numbers of 16 bits", aspect.num, aspect.den);
  std::tie(init.darWidth, init.darHeight) = *shown;
  if (codec_ != Codec::av1) return;
  init.darWidth = static_cast<uint32_t>((aspect.num * options_.width + aspect.den / 2) / aspect.den);
  init.darHeight = init.encodeHeight; // The render size.
}

void Configurator::set_rate_control() {
  constexpr std::int64_t most = UINT32_MAX;
  for (const auto& [name, bits] : {std::pair{"bit_rate", options_.bit_rate},
                                   {"max_bit_rate", options_.max_bit_rate},
                                   {"vbv_buffer_size", options_.vbv_buffer_size}})
    require(bits <= most, "{} {}, expected at most {}", name, bits, most);
  NV_ENC_RC_PARAMS& rate = rates();
  const int modes = session_.capability(codec_, NV_ENC_CAPS_SUPPORTED_RATECONTROL_MODES);
  const RateControl control = effective_rate_control(options_);
  if (lossless()) return; // Its preset has constant quantisers of 0.
  rate.averageBitRate = static_cast<uint32_t>(options_.bit_rate);
  rate.maxBitRate = static_cast<uint32_t>(bound_of_rate(options_));
  rate.targetQuality = rate.targetQualityLSB = 0;
  rate.rateControlMode = control == RateControl::constqp ? NV_ENC_PARAMS_RC_CONSTQP
                         : control == RateControl::cbr   ? NV_ENC_PARAMS_RC_CBR
                                                         : NV_ENC_PARAMS_RC_VBR;
  require_here(control == RateControl::constqp || (modes & static_cast<int>(rate.rateControlMode)) != 0,
               "rate_control {}: {} does not have it", to_string(control), session_.gpu().name());
  if (control != RateControl::constqp && options_.bit_rate == 0) set_target_quality();
  const bool buffer = has(NV_ENC_CAPS_SUPPORT_CUSTOM_VBV_BUF_SIZE);
  require_here(buffer || (options_.vbv_buffer_size == 0 && options_.vbv_initial == 0),
               "vbv_buffer_size {}: {} chooses its buffer itself; leave it out", options_.vbv_buffer_size,
               session_.gpu().name());
  rate.vbvBufferSize = buffer ? static_cast<uint32_t>(std::min(vbv_bits(options_), most)) : 0;
  rate.vbvInitialDelay = static_cast<uint32_t>(options_.vbv_initial);
}

void Configurator::set_target_quality() {
  const double quality = options_.crf >= 0 ? options_.crf : default_quality(codec_);
  require(
      quality >= 1,
      "crf {:g}, expected 1 (best) or more: NVENC takes less for none; tuning lossless keeps every sample",
      quality);
  constexpr double parts = 256;
  const double whole = std::floor(quality);
  rates().targetQuality = static_cast<uint8_t>(whole);
  rates().targetQualityLSB = static_cast<uint8_t>((quality - whole) * parts);
}

NV_ENC_QP Configurator::quantisers(std::string_view name, const QpByType& qp) const {
  const int most = codec_ == Codec::av1 ? 255 : 51;
  for (const int one : qp) require(one >= 0 && one <= most, "{} {}, expected 0 to {}", name, one, most);
  const auto [i, p, b] = qp;
  return {static_cast<uint32_t>(p), static_cast<uint32_t>(b), static_cast<uint32_t>(i)};
}

void Configurator::set_quantisers() {
  NV_ENC_RC_PARAMS& rate = rates();
  if (options_.const_qp) rate.constQP = quantisers("const_qp", *options_.const_qp);
  rate.enableMinQP = options_.qp_min.has_value();
  if (options_.qp_min) rate.minQP = quantisers("qp_min", *options_.qp_min);
  rate.enableMaxQP = options_.qp_max.has_value();
  if (options_.qp_max) rate.maxQP = quantisers("qp_max", *options_.qp_max);
  require(!options_.initial_qp || !(constant_qp() || lossless()),
          "initial_qp {}: const_qp and lossless keep one quantiser from the first picture on; leave it out",
          options_.initial_qp ? to_text(*options_.initial_qp) : "");
  rate.enableInitialRCQP = options_.initial_qp.has_value();
  if (options_.initial_qp) rate.initialRCQP = quantisers("initial_qp", *options_.initial_qp);
}

void Configurator::set_analysis() {
  NV_ENC_RC_PARAMS& rate = rates();
  const bool fixed = constant_qp() || lossless();
  require(options_.multipass <= Multipass::disabled || !fixed,
          "multipass {}: passes find the bits of a picture, which const_qp and lossless do not bound",
          to_string(options_.multipass));
  if (options_.multipass == Multipass::disabled || fixed) rate.multiPass = NV_ENC_MULTI_PASS_DISABLED;
  if (options_.multipass == Multipass::quarter_resolution)
    rate.multiPass = NV_ENC_TWO_PASS_QUARTER_RESOLUTION;
  if (options_.multipass == Multipass::full_resolution) rate.multiPass = NV_ENC_TWO_PASS_FULL_RESOLUTION;
  const bool adapt = options_.spatial_aq.value_or(false) || options_.temporal_aq.value_or(false);
  require(!adapt || !fixed, "spatial_aq and temporal_aq change QP, which const_qp and lossless keep");
  require_here(!options_.temporal_aq.value_or(false) || has(NV_ENC_CAPS_SUPPORT_TEMPORAL_AQ),
               "temporal_aq: {} does not have it", session_.gpu().name());
  if (fixed) rate.enableAQ = rate.enableTemporalAQ = 0;
  if (options_.spatial_aq) rate.enableAQ = *options_.spatial_aq;
  if (options_.temporal_aq) rate.enableTemporalAQ = *options_.temporal_aq;
  if (options_.low_delay_keyframe_scale) {
    require(effective_rate_control(options_) == RateControl::cbr || *options_.low_delay_keyframe_scale == 0,
            "low_delay_keyframe_scale {}: it is of rate_control cbr; take that, or leave it out",
            *options_.low_delay_keyframe_scale);
    rate.lowDelayKeyFrameScale = static_cast<uint8_t>(*options_.low_delay_keyframe_scale);
  }
  if (!options_.lookahead) return;
  require_here(*options_.lookahead == 0 || has(NV_ENC_CAPS_SUPPORT_LOOKAHEAD),
               "lookahead {}: {} does not look ahead", *options_.lookahead, session_.gpu().name());
  rate.enableLookahead = *options_.lookahead > 0;
  rate.lookaheadDepth = static_cast<uint16_t>(*options_.lookahead);
}

} // namespace lanner::nvenc
