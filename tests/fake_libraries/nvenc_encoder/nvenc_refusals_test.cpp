// What NVENC, or a GPU's, cannot do is refused with the reason.

#include "expect_error.h"
#include "fake_libraries/nvenc_encoder/nvenc_pictures.h"

namespace lanner::test {
namespace {

using namespace nvenc;

void configure(const std::string& codec, const std::function<void(EncoderOptions&)>& set) {
  EncoderOptions options = nvenc_options(codec);
  set(options);
  static_cast<void>(create_encoder(options));
}

struct Refusal {
  const char* codec;
  std::function<void(EncoderOptions&)> set;
  ErrorCode code;
  const char* line;
};

const ErrorCode invalid = ErrorCode::invalid_argument, unsupported = ErrorCode::unsupported;

TEST_F(FakeNvencEncoder, what_nvenc_cannot_do_is_refused) {
  using O = EncoderOptions;
  const Refusal refusals[] = {
      {"vp9", [](O&) {}, unsupported, "no codec 'vp9'; expected h264, hevc or av1, or take device cpu"},
      {"h264", [](O& o) { o.preset = "slow"; }, invalid, "preset 'slow', expected P1 to P7"},
      {"h264", [](O& o) { o.threads = 4; }, unsupported, "threads 4: the GPU encodes"},
      {"h264", [](O& o) { o.codec_options["tune"] = "film"; }, unsupported, "codec_options tune"},
      {"h264", [](O& o) { o.tuning = Tuning::ultra_high_quality; }, unsupported, "version 12.2 of the API"},
      {"av1", [](O& o) { o.tuning = Tuning::lossless; }, unsupported, "Fake GPU has no lossless mode"},
      {"h264", [](O& o) { o.width = 64; }, unsupported, "size 64x64, Fake GPU encodes 145x49 to 4096x4096"},
      {"h264", [](O& o) { o.width = 161; }, invalid, "expected even sides for 4:2:0"},
      {"h264", [](O& o) { o.max_width = 9000, o.max_height = 100; }, unsupported,
       "encodes at most 4096x4096"},
      {"h264", [](O& o) { o.format = PixelFormat::nv16; }, unsupported,
       "4:2:2 is of version 13.0 of the API"},
      {"hevc", [](O& o) { o.format = PixelFormat::p210; }, unsupported, "take nv12 or yuv444p"},
      {"h264", [](O& o) { o.format = PixelFormat::p010; }, unsupported, "more than 8 bits of h264"},
      {"av1", [](O& o) { o.format = PixelFormat::yuv444p; }, unsupported, "encodes no 4:4:4 of it"},
      {"hevc", [](O& o) { o.tuning = Tuning::lossless, o.format = PixelFormat::rgb24; }, invalid,
       "of which yuv420p is stored"},
      {"h264", [](O& o) { o.crf = 0; }, invalid, "crf 0, expected 1"},
      {"h264", [](O& o) { o.bit_rate = 5'000'000'000; }, invalid, "bit_rate 5000000000, expected at most"},
      {"h264",
       [](O& o) {
         o.const_qp = {52, 52, 52};
       },
       invalid, "const_qp 52, expected 0 to 51"},
      {"h264",
       [](O& o) {
         o.const_qp = {20, 20, 20}, o.initial_qp = {20, 20, 20};
       },
       invalid, "initial_qp 20"},
      {"h264",
       [](O& o) {
         o.const_qp = {20, 20, 20}, o.multipass = Multipass::full_resolution;
       },
       invalid, "multipass full_resolution"},
      {"h264",
       [](O& o) {
         o.const_qp = {20, 20, 20}, o.spatial_aq = true;
       },
       invalid, "spatial_aq"},
      {"h264", [](O& o) { o.low_delay_keyframe_scale = 2; }, invalid, "it is of rate_control cbr"},
      {"h264", [](O& o) { o.b_frames = 5; }, unsupported, "b_frames 5, Fake GPU has at most 4"},
      {"h264", [](O& o) { o.b_frames = 2, o.gop = 2; }, invalid,
       "keyframes 2 pictures apart, expected fewer"},
      {"h264", [](O& o) { o.b_frames = 2, o.tuning = Tuning::low_latency; }, invalid, "give gop too"},
      {"h264", [](O& o) { o.lookahead = 31, o.b_frames = 2; }, invalid, "lookahead 31, expected at most 29"},
      {"h264", [](O& o) { o.num_ref_l0 = 8; }, invalid, "num_ref_l0 8, expected 1 to 7"},
      {"av1", [](O& o) { o.num_ref_l0 = 5; }, invalid, "num_ref_l0 5, expected 1 to 4"},
      {"h264", [](O& o) { o.num_ref_l1 = 2; }, invalid, "list 1 is of B-frames"},
      {"av1", [](O& o) { o.slice_mode = SliceMode::count, o.slice_data = 2; }, unsupported,
       "AV1 has no slices"},
      {"h264", [](O& o) { o.slice_mode = SliceMode::rows, o.slice_data = 5; }, invalid, "expected 1 to 4"},
      {"av1", [](O& o) { o.num_units_in_tick = 1, o.time_scale = 50; }, unsupported, "timing is of the VUI"},
      {"h264", [](O& o) { o.profile = "high10"; }, unsupported, "profile high10: Fake GPU does not write it"},
      {"h264", [](O& o) { o.profile = "main", o.format = PixelFormat::yuv444p; }, invalid,
       "profile main does not hold"},
      {"h264", [](O& o) { o.profile = "baseline", o.preset = "P5"; }, invalid,
       "preset P5 has 2; give b_frames 0"},
      {"av1", [](O& o) { o.profile = "high"; }, unsupported, "profile high"},
      {"h264", [](O& o) { o.level = "4", o.tier = "high"; }, unsupported, "H.264 has no tiers"},
      {"hevc", [](O& o) { o.level = "3", o.tier = "high"; }, invalid, "tier high begins at level 4"},
      {"h264", [](O& o) { o.level = "1", o.width = 320, o.height = 240; }, invalid, "level 1 holds pictures"},
  };
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.line);
    LANNER_EXPECT_ERROR(configure(refusal.codec, refusal.set), refusal.code, refusal.line);
    EXPECT_EQ(fake_nvenc_sessions(), 0);
  }
}

TEST_F(FakeNvencEncoder, what_the_gpu_lacks_is_refused) {
  struct Case {
    NV_ENC_CAPS lacks;
    std::function<void(EncoderOptions&)> set;
    const char* line;
  };
  using O = EncoderOptions;
  const auto rates = [](O& o) { o.bit_rate = 1'000'000, o.max_bit_rate = 1'000'000; };
  const Case cases[] = {
      {NV_ENC_CAPS_SUPPORT_LOSSLESS_ENCODE, [](O& o) { o.tuning = Tuning::lossless; }, "lossless"},
      {NV_ENC_CAPS_SUPPORT_YUV444_ENCODE, [](O& o) { o.format = PixelFormat::yuv444p; }, "4:4:4"},
      {NV_ENC_CAPS_SUPPORT_10BIT_ENCODE, [](O& o) { o.format = PixelFormat::p010; }, "8 bits alone"},
      {NV_ENC_CAPS_SUPPORTED_RATECONTROL_MODES, rates, "rate_control vbr"},
      {NV_ENC_CAPS_SUPPORT_CUSTOM_VBV_BUF_SIZE, [&](O& o) { rates(o), o.vbv_buffer_size = 100'000; },
       "chooses its buffer itself"},
      {NV_ENC_CAPS_SUPPORT_TEMPORAL_AQ, [](O& o) { o.temporal_aq = true; }, "temporal_aq"},
      {NV_ENC_CAPS_SUPPORT_LOOKAHEAD, [](O& o) { o.lookahead = 8; }, "does not look ahead"},
      {NV_ENC_CAPS_NUM_MAX_BFRAMES, [](O& o) { o.b_frames = 1; }, "at most 0"},
      {NV_ENC_CAPS_SUPPORT_MULTIPLE_REF_FRAMES, [](O& o) { o.num_ref_l0 = 2; }, "chooses them itself"},
      {NV_ENC_CAPS_SUPPORT_DYNAMIC_SLICE_MODE,
       [](O& o) { o.slice_mode = SliceMode::bytes, o.slice_data = 900; }, "slice_mode bytes"},
      {NV_ENC_CAPS_SUPPORT_DYN_RES_CHANGE, [](O& o) { o.max_width = 320, o.max_height = 200; }, "max_width"},
      {NV_ENC_CAPS_LEVEL_MAX, [](O& o) { o.level = "4"; }, "level 4"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.line);
    fake_nvenc_set_capability(1, one.lacks, 0);
    LANNER_EXPECT_ERROR(configure("hevc", one.set), ErrorCode::unsupported, one.line);
    fake_nvenc_reset_device();
    configure("hevc", one.set);
  }
  fake_nvenc_set_capability(1, NV_ENC_CAPS_SUPPORT_CUSTOM_VBV_BUF_SIZE, 0);
  configure("hevc", rates); // Without a size that was asked for, the GPU's own.
  EXPECT_EQ(recorded_rates().vbvBufferSize, 0u);
  fake_nvenc_offer_codec(2, false);
  LANNER_EXPECT_ERROR(configure("av1", [](O&) {}), ErrorCode::unsupported, "Fake GPU does not encode it");
}

} // namespace
} // namespace lanner::test
