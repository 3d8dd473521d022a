// What encoders cannot do is refused before they open, in one line that says why and what would do.

#include <cmath>

#include <gtest/gtest.h>

#include "expect_error.h"
#include "video/encoded.h"
#include "video/write/encoder_tables.h"

namespace lanner {
namespace {

using test::small_options;
using Change = void (*)(EncoderOptions&);

void expect_refused(const std::string& encoder, Change change, const char* line,
                    ErrorCode code = ErrorCode::invalid_argument) {
  SCOPED_TRACE(encoder + ": " + line);
  EncoderOptions options = small_options(encoder);
  change(options);
  LANNER_EXPECT_ERROR(create_encoder(options), code, line);
}

/// Gives an option a value that makes sense on its own.
bool give(EncoderOptions& options, std::string_view name) {
  if (name == "initial_qp")
    options.initial_qp = QpByType{20, 20, 20};
  else if (name == "multipass")
    options.multipass = Multipass::full_resolution;
  else if (name == "low_delay_keyframe_scale")
    options.low_delay_keyframe_scale = 2;
  else if (name == "num_ref_l0")
    options.num_ref_l0 = 2;
  else if (name == "num_ref_l1")
    options.num_ref_l1 = 2;
  else if (name == "slice_mode")
    options.slice_mode = SliceMode::count, options.slice_data = 2;
  else if (name == "tier")
    options.level = "5", options.tier = "main";
  else if (name == "level")
    options.level = "5";
  else if (name == "profile")
    options.profile = "main";
  else if (name == "time_scale")
    options.num_units_in_tick = 1, options.time_scale = 50;
  else if (name == "repeat_headers")
    options.repeat_headers = true;
  else if (name == "temporal_aq")
    options.temporal_aq = true;
  else if (name == "max_bit_rate")
    options.bit_rate = 100'000, options.max_bit_rate = 200'000;
  else if (name == "vbv_buffer_size" || name == "vbv_initial" || name == "hrd") {
    options.bit_rate = 100'000, options.rate_control = RateControl::cbr;
    if (name == "vbv_buffer_size") options.vbv_buffer_size = 50'000;
    if (name == "vbv_initial") options.vbv_initial = 50'000;
    if (name == "hrd") options.hrd = true;
  } else
    return false;
  return true;
}

} // namespace

TEST(EncoderRefusals, EachRowOfTheTableIsARefusal) {
  LANNER_NEEDS_FFMPEG();
  for (const EncoderRefusal& refusal : encoder_refusals) {
    const std::string encoder =
        refusal.encoder == "*" || refusal.encoder == "libx264*" ? "libx264" : std::string(refusal.encoder);
    if (!test::has_encoder(encoder)) continue;
    SCOPED_TRACE(encoder + " " + std::string(refusal.option));
    EncoderOptions options = small_options(encoder);
    ASSERT_TRUE(give(options, refusal.option));
    LANNER_EXPECT_ERROR(create_encoder(options), ErrorCode::unsupported, std::string(refusal.why));
  }
}

TEST(EncoderRefusals, EncodersWithFewOptionsRefuseTheOthers) {
  LANNER_NEEDS_ENCODER("mpeg4");
  for (const char* name :
       {"slice_mode", "level", "profile", "num_ref_l0", "time_scale", "temporal_aq", "hrd"}) {
    EncoderOptions options = small_options("mpeg4");
    ASSERT_TRUE(give(options, name));
    LANNER_EXPECT_ERROR(create_encoder(options), ErrorCode::unsupported,
                        "this encoder has no such option here");
  }
}

TEST(EncoderRefusals, NumbersOutsideOfTheirScale) {
  LANNER_NEEDS_ENCODER("libx264");
  for (const char* codec : {"h264", "hevc"}) {
    expect_refused(
        codec, [](EncoderOptions& o) { o.crf = 52; }, "quality 52, expected 0 (best) to 51");
    expect_refused(
        codec,
        [](EncoderOptions& o) {
          o.const_qp = QpByType{20, 52, 20};
        },
        "const_qp 52, expected 0 to 51");
    expect_refused(
        codec,
        [](EncoderOptions& o) {
          o.const_qp = QpByType{1, 40, 40};
        },
        "at most 19 between I and P");
    expect_refused(
        codec,
        [](EncoderOptions& o) {
          o.qp_min = QpByType{1, 2, 3};
        },
        "differs by type of picture");
    expect_refused(
        codec, [](EncoderOptions& o) { o.b_frames = 17; }, "b_frames 17, expected 0 to 16");
    expect_refused(
        codec, [](EncoderOptions& o) { o.lookahead = 251; }, "lookahead 251, expected 0 to 250");
    expect_refused(
        codec, [](EncoderOptions& o) { o.bit_rate = 999; }, "bit_rate 999, expected 1000 to");
    expect_refused(
        codec, [](EncoderOptions& o) { o.gop = 8, o.idr_period = 16; }, "idr_period 16 with gop 8");
  }
  expect_refused(
      "av1", [](EncoderOptions& o) { o.crf = 500; }, "quality 500, expected 0 (best) to 63");
  if (test::has_encoder("libsvtav1")) {
    expect_refused(
        "libsvtav1", [](EncoderOptions& o) { o.crf = 0; }, "quality 0, expected 1 (best) to 63");
    expect_refused(
        "libsvtav1", [](EncoderOptions& o) { o.crf = 20.5; }, "quality 20.5, expected a whole number");
    expect_refused(
        "libsvtav1", [](EncoderOptions& o) { o.b_frames = 3; }, "b_frames 3, expected 0, 7, 15 or 31");
    expect_refused(
        "libsvtav1",
        [](EncoderOptions& o) {
          o.qp_min = QpByType{9, 9, 9};
        },
        "give bit_rate");
    expect_refused(
        "libsvtav1", [](EncoderOptions& o) { o.tuning = Tuning::lossless; }, "SVT-AV1 1.4 loses samples");
    expect_refused(
        "libsvtav1",
        [](EncoderOptions& o) {
          o.codec_options = {{"svtav1-params", "nosuch=1"}};
        },
        "nosuch");
  }
  expect_refused(
      "h264",
      [](EncoderOptions& o) {
        o.const_qp = QpByType{0, 0, 0};
      },
      "x264 takes 0 for lossless");
  expect_refused(
      "h264", [](EncoderOptions& o) { o.tuning = Tuning::ultra_high_quality; }, "only NVENC has it");
  expect_refused(
      "h264", [](EncoderOptions& o) { o.slice_mode = SliceMode::count, o.slice_data = 5; },
      "slice_data 5, expected 1 to 4, the rows of macroblocks of 96x64");
  expect_refused(
      "h264",
      [](EncoderOptions& o) {
        o.codec_options = {{"x264-params", "nosuch=1"}};
      },
      "nosuch");
  expect_refused(
      "h264",
      [](EncoderOptions& o) {
        o.lookahead = 3, o.codec_options = {{"rc-lookahead", "4"}};
      },
      "both say 'rc-lookahead'");
  if (test::has_encoder("mpeg4"))
    expect_refused(
        "mpeg4",
        [](EncoderOptions& o) {
          o.const_qp = QpByType{32, 32, 32};
        },
        "const_qp 32, expected 1 to 31");
}

TEST(EncoderRefusals, OptionsThatExcludeOneAnother) {
  LANNER_NEEDS_ENCODER("libx264");
  expect_refused(
      "h264", [](EncoderOptions& o) { o.const_qp = QpByType{}, o.crf = 20; }, "const_qp and crf exclude");
  expect_refused(
      "h264", [](EncoderOptions& o) { o.const_qp = QpByType{}, o.bit_rate = 9000; }, "const_qp and bit_rate");
  expect_refused(
      "h264", [](EncoderOptions& o) { o.rate_control = RateControl::cbr; }, "cbr needs bit_rate");
  expect_refused(
      "h264", [](EncoderOptions& o) { o.rate_control = RateControl::constqp; }, "needs const_qp");
  expect_refused(
      "h264", [](EncoderOptions& o) { o.vbv_buffer_size = 1000; }, "needs a bound of the rate");
  expect_refused(
      "h264", [](EncoderOptions& o) { o.hrd = true; }, "hrd needs a bound");
  expect_refused(
      "h264", [](EncoderOptions& o) { o.hrd = true, o.time_scale = 50, o.num_units_in_tick = 1; },
      "hrd counts in ticks of the rate");
  expect_refused(
      "h264", [](EncoderOptions& o) { o.tuning = Tuning::lossless, o.crf = 20; }, "keeps every sample");
  expect_refused(
      "h264", [](EncoderOptions& o) { o.slice_mode = SliceMode::rows; },
      "slice_mode 'rows' with slice_data 0");
  expect_refused(
      "h264", [](EncoderOptions& o) { o.time_scale = 50; }, "expected both, like 1001 and 60000");
  expect_refused(
      "h264", [](EncoderOptions& o) { o.tier = "high"; }, "tier is of a level");
  expect_refused(
      "h264",
      [](EncoderOptions& o) {
        o.const_qp = QpByType{9, 9, 9}, o.spatial_aq = true;
      },
      "spatial_aq and temporal_aq change QP");
  expect_refused(
      "h264", [](EncoderOptions& o) { o.temporal_aq = true, o.lookahead = 0; }, "needs a lookahead");
  expect_refused(
      "h264",
      [](EncoderOptions& o) {
        o.qp_min = QpByType{9, 9, 9}, o.qp_max = QpByType{8, 8, 8};
      },
      "qp_min 9 above qp_max 8");
  expect_refused(
      "h264", [](EncoderOptions& o) { o.max_width = 48; }, "expected at least the size 96x64");
}

TEST(EncoderRefusals, ProfilesAndLevelsThatDoNotHoldThePictures) {
  LANNER_NEEDS_ENCODER("libx264");
  expect_refused(
      "h264", [](EncoderOptions& o) { o.profile = "hihg"; }, "no profile 'hihg'; expected one of baseline");
  expect_refused(
      "h264", [](EncoderOptions& o) { o.profile = "high", o.format = PixelFormat::yuv420p10; },
      "profile high does not hold yuv420p10; expected one of high10, high422, high444");
  expect_refused(
      "h264", [](EncoderOptions& o) { o.profile = "high", o.tuning = Tuning::lossless; },
      "does not hold lossless yuv420p");
  expect_refused(
      "h264", [](EncoderOptions& o) { o.profile = "baseline", o.b_frames = 1; }, "baseline has no B-frames");
  expect_refused(
      "h264", [](EncoderOptions& o) { o.level = "7"; }, "no level '7'; expected one of 1, 1b");
  expect_refused(
      "h264", [](EncoderOptions& o) { o.level = "1", o.width = 640, o.height = 480; },
      "level 1 holds pictures of 99 macroblocks, 640x480 has 1200");
  expect_refused(
      "h264",
      [](EncoderOptions& o) {
        o.level = "1", o.rate = {120, 1};
      },
      "1485 macroblocks a second");
  expect_refused(
      "h264", [](EncoderOptions& o) { o.level = "1", o.bit_rate = 900'000; }, "holds 80000 bits a second");
  expect_refused(
      "h264", [](EncoderOptions& o) { o.level = "1", o.width = 464, o.height = 16; },
      "holds sides of 28 macroblocks, got 464x16");
  if (!test::has_encoder("libx265")) return;
  expect_refused(
      "hevc", [](EncoderOptions& o) { o.profile = "main", o.format = PixelFormat::yuv444p; },
      "profile main does not hold yuv444p");
  expect_refused(
      "hevc", [](EncoderOptions& o) { o.level = "2", o.tier = "high"; }, "tier high begins at level 4");
  expect_refused(
      "hevc", [](EncoderOptions& o) { o.level = "1", o.width = 640, o.height = 480; }, "36864 samples");
}

} // namespace lanner
