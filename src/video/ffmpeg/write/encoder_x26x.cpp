// Options of libx264 and libx265.

#include <algorithm>
#include <cmath>

#include "video/ffmpeg/write/encoder_settings.h"
#include "video/write/encoder_levels.h"
#include "video/write/encoder_options.h"

namespace lanner::ffmpeg {

namespace {

constexpr int most_b_frames = 16, most_lookahead = 250, most_qp = 51;

bool low_latency(const EncoderOptions& options) {
  return options.tuning == Tuning::low_latency || options.tuning == Tuning::ultra_low_latency;
}

/// QP of P pictures, and the others as the ratios of quantiser steps that both libraries take: a step doubles
/// every 6 QP (H.264 8.5.9).
void set_const_qp(EncoderSettings& settings, int least, int offset) {
  const auto& qp = settings.options().const_qp;
  if (!qp) return;
  for (const int one : *qp)
    settings.require(one >= 0 && one <= most_qp, "const_qp {}, expected 0 to {}", one, most_qp);
  const auto [i, p, b] = *qp;
  settings.require(
      p >= least,
      "const_qp {} of P pictures, expected {} to {}: x264 takes 0 for lossless, which tuning lossless "
      "asks for",
      p, least, most_qp);
  constexpr int most_difference = 19;
  settings.require(std::abs(p - i) <= most_difference && std::abs(b - p) <= most_difference,
                   "const_qp {}, expected at most {} between I and P, and P and B", to_text(*qp),
                   most_difference);
  settings.set("qp", fmt::format("{}", p + offset));
  settings.set("ipratio", fmt::format("{:.6f}", std::exp2((p - i) / 6.0)));
  settings.set("pbratio", fmt::format("{:.6f}", std::exp2((b - p) / 6.0)));
}

void set_qp_bounds(EncoderSettings& settings, int offset) {
  const EncoderOptions& options = settings.options();
  if (options.qp_min)
    settings.set("qpmin",
                 fmt::format("{}", settings.single_qp("qp_min", *options.qp_min, 0, most_qp) + offset));
  if (options.qp_max)
    settings.set("qpmax",
                 fmt::format("{}", settings.single_qp("qp_max", *options.qp_max, 0, most_qp) + offset));
}

void set_aq(EncoderSettings& settings, const char* spatial_on, const char* temporal) {
  const EncoderOptions& options = settings.options();
  const bool fixed = options.const_qp || options.tuning == Tuning::lossless;
  const bool wanted = options.spatial_aq.value_or(false) || options.temporal_aq.value_or(false);
  settings.require(!wanted || !fixed,
                   "spatial_aq and temporal_aq change QP, which const_qp and lossless keep");
  const bool ahead = options.lookahead ? *options.lookahead > 0 : !low_latency(options);
  settings.require(!options.temporal_aq.value_or(false) || ahead,
                   "temporal_aq needs a lookahead of 1 or more");
  if (options.spatial_aq) settings.set("aq-mode", *options.spatial_aq ? spatial_on : "0");
  if (options.temporal_aq) settings.set(temporal, *options.temporal_aq ? "1" : "0");
}

void set_common(EncoderSettings& settings) {
  const EncoderOptions& options = settings.options();
  settings.require(options.b_frames <= most_b_frames, "b_frames {}, expected 0 to {}", options.b_frames,
                   most_b_frames);
  settings.require(options.lookahead.value_or(0) <= most_lookahead, "lookahead {}, expected 0 to {}",
                   options.lookahead.value_or(0), most_lookahead);
  if (options.b_frames >= 0) {
    settings.drop("bframes"); // Of a tuning.
    settings.context().max_b_frames = options.b_frames;
  }
  if (options.lookahead) settings.set("rc-lookahead", fmt::format("{}", *options.lookahead));
  if (options.num_ref_l0) settings.context().refs = *options.num_ref_l0;
  settings.set_rates();
  settings.set_period();
  if (options.idr_period > 0) settings.set("scenecut", "0"); // Scenes would begin with one more.
  settings.set("forced-idr", "1", false);
}

CodedPictures pictures_of(const EncoderSettings& settings) {
  return {settings.encoder(), settings.stored(), settings.options().tuning == Tuning::lossless};
}

void set_slices(EncoderSettings& settings) {
  const EncoderOptions& options = settings.options();
  constexpr int block = 16;
  const int columns = (options.width + block - 1) / block, rows = (options.height + block - 1) / block;
  const int data = options.slice_data;
  const auto require = [&](int most, const char* what) {
    settings.require(data <= most, "slice_data {}, expected 1 to {}, the {} of {}x{}", data, most, what,
                     options.width, options.height);
  };
  switch (options.slice_mode) {
  case SliceMode::unspecified:
    break;
  case SliceMode::macroblocks:
    require(columns * rows, "macroblocks");
    settings.set("slice-max-mbs", fmt::format("{}", data));
    break;
  case SliceMode::bytes:
    settings.require(data >= 64, "slice_data {}, expected 64 bytes or more", data);
    settings.set("slice-max-size", fmt::format("{}", data));
    break;
  case SliceMode::rows:
    require(rows, "rows of macroblocks");
    settings.set("slice-max-mbs", fmt::format("{}", data * columns));
    break;
  case SliceMode::count:
    require(rows, "rows of macroblocks");
    settings.context().slices = data;
    break;
  }
}

} // namespace

void set_x264(EncoderSettings& settings) {
  const EncoderOptions& options = settings.options();
  const int offset = 6 * (format_info(settings.stored()).bits - 8); // x264 begins at 0 at any depth.
  set_common(settings);
  set_const_qp(settings, offset > 0 ? 0 : 1, offset);
  set_qp_bounds(settings, offset);
  set_aq(settings, "1", "mbtree");
  set_slices(settings);
  if (options.vbv_initial > 0)
    settings.context().rc_initial_buffer_occupancy = static_cast<int>(options.vbv_initial);
  const bool constant = effective_rate_control(options) == RateControl::cbr;
  if (options.hrd) settings.set("nal-hrd", constant ? "cbr" : "vbr");
  if (constant && !options.hrd) settings.set("filler", "1");
  if (!options.profile.empty()) {
    check_profile("h264", pictures_of(settings), options);
    settings.set("profile", options.profile);
  }
  if (options.level.empty()) return;
  const int level = checked_level("h264", pictures_of(settings), options);
  settings.set("level", level == 9 ? "1b" : fmt::format("{}", level));
}

void set_x265(EncoderSettings& settings) {
  const EncoderOptions& options = settings.options();
  set_common(settings);
  set_const_qp(settings, 0, 0);
  set_qp_bounds(settings, 0);
  set_aq(settings, "2", "cutree");
  constexpr int most_of_presets = 8;
  if (options.lookahead && options.b_frames < 0 && *options.lookahead <= most_of_presets)
    settings.set("bframes", fmt::format("{}", std::clamp(*options.lookahead - 1, 0, 3)));
  settings.require(!options.lookahead || options.b_frames <= 0 || *options.lookahead > options.b_frames,
                   "lookahead {}, expected more than the {} of b_frames", options.lookahead.value_or(0),
                   options.b_frames);
  if (options.idr_period > 0) settings.set("open-gop", "0");
  if (options.vbv_initial > 0)
    settings.set("vbv-init", fmt::format("{:.6f}", static_cast<double>(options.vbv_initial) /
                                                       static_cast<double>(vbv_bits(options))));
  if (effective_rate_control(options) == RateControl::cbr) settings.set("strict-cbr", "1");
  if (options.hrd) settings.set("hrd", "1");
  if (!options.profile.empty()) {
    check_profile("hevc", pictures_of(settings), options);
    settings.set("profile", options.profile);
  }
  if (options.level.empty()) return;
  const int level = checked_level("hevc", pictures_of(settings), options);
  settings.require(options.tier != "high" || level >= 120, "tier high begins at level 4, level is {}",
                   options.level);
  settings.set("level-idc", fmt::format("{}", level / 3));
  settings.set("high-tier", options.tier == "high" ? "1" : "0");
}

} // namespace lanner::ffmpeg
