// Options of libsvtav1, libaom-av1 and of the encoders with few.

#include <algorithm>

#include "video/ffmpeg/write/encoder_settings.h"
#include "video/write/encoder_levels.h"
#include "video/write/encoder_options.h"

namespace lanner::ffmpeg {

namespace {

constexpr int most_qp = 63, most_quantiser = 31;

/// Bounds that count where a bit rate is kept.
void set_qp_bounds(EncoderSettings& settings, int least, int most) {
  const EncoderOptions& options = settings.options();
  settings.require(!(options.qp_min || options.qp_max) || options.bit_rate > 0,
                   "qp_min and qp_max bound what a bit rate makes of QP; give bit_rate");
  if (options.qp_min) settings.context().qmin = settings.single_qp("qp_min", *options.qp_min, least, most);
  if (options.qp_max) settings.context().qmax = settings.single_qp("qp_max", *options.qp_max, least, most);
}

void refuse_b_frames(const EncoderSettings& settings) {
  settings.require(settings.options().b_frames <= 0, "b_frames {}, expected 0: it writes none",
                   settings.options().b_frames);
}

/// SVT-AV1's hierarchies have 7, 15 or 31 pictures between two that refer only to earlier ones.
void set_svt_structure(EncoderSettings& settings) {
  const EncoderOptions& options = settings.options();
  const bool constant = effective_rate_control(options) == RateControl::cbr;
  const int between = options.b_frames;
  settings.require(between <= 0 || between == 7 || between == 15 || between == 31,
                   "b_frames {}, expected 0, 7, 15 or 31, the lengths of its hierarchies", between);
  settings.require(!constant || between <= 0,
                   "rate_control cbr with b_frames {}: SVT-AV1 has constant bit rate only without b_frames; "
                   "leave b_frames out",
                   between);
  if (between == 0 || constant) settings.set("pred-struct", "1", between == 0);
  if (between > 0) {
    settings.drop("pred-struct"); // Of a tuning.
    settings.set("hierarchical-levels", between == 7 ? "3" : between == 15 ? "4" : "5");
  }
}

} // namespace

void set_svt_av1(EncoderSettings& settings) {
  const EncoderOptions& options = settings.options();
  // FFmpeg passes SVT-AV1 only distances of 2 or more, and drops 1.
  settings.require(options.gop != 1 && options.idr_period != 1,
                   "gop 1, expected 2 or more; libaom-av1 makes every frame a keyframe");
  set_svt_structure(settings);
  settings.set_rates();
  settings.set_period();
  const RateControl control = effective_rate_control(options);
  settings.require(
      options.max_bit_rate == 0 || options.bit_rate == 0,
      "max_bit_rate {}: SVT-AV1 1.4 takes a maximum only with constant quality; give crf instead of bit_rate",
      options.max_bit_rate);
  if (control == RateControl::cbr) settings.set("rc", "2");
  if (control == RateControl::cbr) settings.context().rc_max_rate = 0;
  settings.context().rc_buffer_size = 0;
  if (options.const_qp) {
    settings.set("qp", fmt::format("{}", settings.single_qp("const_qp", *options.const_qp, 1, most_qp)));
    settings.set("use-fixed-qindex-offsets", "1", false);
  }
  set_qp_bounds(settings, 1, most_qp);
  constexpr int most_lookahead = 120;
  settings.require(options.lookahead.value_or(0) <= most_lookahead, "lookahead {}, expected 0 to {}",
                   options.lookahead.value_or(0), most_lookahead);
  if (options.lookahead) settings.set("lookahead", fmt::format("{}", *options.lookahead));
  settings.require(!options.spatial_aq.value_or(false) || !options.const_qp,
                   "spatial_aq changes QP, which const_qp keeps");
  if (options.spatial_aq) settings.set("aq-mode", *options.spatial_aq ? "2" : "0");
  if (options.level.empty()) return;
  const CodedPictures pictures{settings.encoder(), settings.stored(), false};
  settings.context().level = checked_level("av1", pictures, options);
}

void set_aom(EncoderSettings& settings) {
  const EncoderOptions& options = settings.options();
  refuse_b_frames(settings);
  if (options.b_frames == 0) settings.set("lag-in-frames", "0", false);
  // FFmpeg does not tell libaom, and AV1 has no other places (AV1 6.4.2).
  if (options.color.siting == ChromaSiting::left) settings.set("chroma-sample-position", "vertical", false);
  if (options.color.siting == ChromaSiting::top_left)
    settings.set("chroma-sample-position", "colocated", false);
  settings.set_rates();
  settings.set_period();
  settings.context().rc_buffer_size = 0;
  settings.context().rc_min_rate = settings.context().rc_max_rate; // FFmpeg tells CBR by that.
  if (options.const_qp) {
    const int qp = settings.single_qp("const_qp", *options.const_qp, 1, most_qp);
    settings.context().qmin = settings.context().qmax = qp;
    settings.set("crf", fmt::format("{}", qp));
  }
  set_qp_bounds(settings, 0, most_qp);
  constexpr int most_lookahead = 48;
  settings.require(options.lookahead.value_or(0) <= most_lookahead, "lookahead {}, expected 0 to {}",
                   options.lookahead.value_or(0), most_lookahead);
  settings.require(options.b_frames != 0 || options.lookahead.value_or(0) == 0,
                   "lookahead {} with b_frames 0: libaom-av1 reorders what it looks ahead; leave one out",
                   options.lookahead.value_or(0));
  if (options.lookahead) settings.set("lag-in-frames", fmt::format("{}", *options.lookahead));
  if (options.spatial_aq) settings.set("aq-mode", *options.spatial_aq ? "1" : "0");
}

namespace {

void set_vpx(EncoderSettings& settings) {
  const EncoderOptions& options = settings.options();
  refuse_b_frames(settings);
  if (effective_rate_control(options) == RateControl::cbr)
    settings.context().rc_min_rate = settings.context().rc_max_rate = options.bit_rate;
  if (options.const_qp) {
    const int qp = settings.single_qp("const_qp", *options.const_qp, 0, most_qp);
    settings.context().qmin = settings.context().qmax = qp;
    settings.set("crf", fmt::format("{}", qp));
  }
  set_qp_bounds(settings, 0, most_qp);
  constexpr int most_lookahead = 25;
  settings.require(options.lookahead.value_or(0) <= most_lookahead, "lookahead {}, expected 0 to {}",
                   options.lookahead.value_or(0), most_lookahead);
  if (options.lookahead) settings.set("lag-in-frames", fmt::format("{}", *options.lookahead));
  if (options.spatial_aq) settings.set("aq-mode", *options.spatial_aq ? "1" : "0");
}

/// FFmpeg's own encoders of MPEG and JPEG.
void set_mpeg(EncoderSettings& settings) {
  const EncoderOptions& options = settings.options();
  AVCodecContext& context = settings.context();
  if (settings.encoder() == "mjpeg") {
    refuse_b_frames(settings);
    settings.require(
        effective_rate_control(options) != RateControl::cbr || options.const_qp.has_value(),
        "rate_control cbr: it has no rate buffer; give bit_rate without rate_control, or const_qp");
  } else {
    settings.set_rates();
    if (effective_rate_control(options) == RateControl::cbr) context.rc_min_rate = options.bit_rate;
  }
  if (options.const_qp) {
    context.flags |= AV_CODEC_FLAG_QSCALE;
    context.global_quality =
        FF_QP2LAMBDA * settings.single_qp("const_qp", *options.const_qp, 1, most_quantiser);
  }
  if (options.qp_min || options.qp_max) { // Else FFmpeg's bounds of I and B pictures are other ones.
    context.i_quant_factor = -1;
    context.b_quant_factor = 1;
    context.i_quant_offset = context.b_quant_offset = 0;
  }
  set_qp_bounds(settings, 1, most_quantiser);
}

/// Of GIF, APNG and WebP.
void set_animation(EncoderSettings& settings) {
  const EncoderOptions& options = settings.options();
  refuse_b_frames(settings);
  settings.require(options.bit_rate == 0, "bit_rate {}: it keeps to no rate; codec_options take its quality",
                   options.bit_rate);
  settings.require(options.gop == 0, "gop {}: it decides by itself what a picture takes from the one before",
                   options.gop);
}

} // namespace

void set_other(EncoderSettings& settings) {
  const EncoderOptions& options = settings.options();
  const std::string_view name = settings.encoder();
  if (options.bit_rate > 0) settings.context().bit_rate = options.bit_rate;
  if (options.gop > 0) settings.context().gop_size = options.gop;
  if (options.b_frames >= 0) settings.context().max_b_frames = options.b_frames;
  if (name.starts_with("libvpx")) return set_vpx(settings);
  if (name == "mpeg4" || name == "mpeg2video" || name == "mjpeg") return set_mpeg(settings);
  if (name == "gif" || name == "apng" || name.starts_with("libwebp")) return set_animation(settings);
  if (name == "ffv1" || name == "png" || name == "librav1e") refuse_b_frames(settings);
}

} // namespace lanner::ffmpeg
