// Rate control, quantisation and analysis of encoders, read from their streams.

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "video/encoded.h"

namespace lanner {
namespace {

using test::HeaderTrace;
using test::small_options;

std::string library_of(const std::string& codec) {
  return codec == "h264" ? "libx264" : codec == "hevc" ? "libx265" : codec;
}

/// What libx264 and libx265 write of their settings into an SEI message.
std::string settings_text(const test::EncodedStream& made) {
  return made.content();
}

bool says(const test::EncodedStream& made, const std::string& text) {
  return settings_text(made).find(text) != std::string::npos;
}

} // namespace

TEST(EncoderRate, ConstQpIsTheQpOfEachTypeOfPicture) {
  for (const std::string codec : {"h264", "hevc"}) {
    LANNER_NEEDS_ENCODER(library_of(codec));
    LANNER_NEEDS_TRACE();
    for (const PixelFormat format : {PixelFormat::yuv420p, PixelFormat::yuv420p10}) {
      EncoderOptions options = small_options(codec);
      options.format = format;
      options.const_qp = QpByType{24, 27, 33};
      options.b_frames = 2;
      options.gop = 8;
      auto qps = HeaderTrace(test::encoded(options)).slice_qps(codec == "hevc");
      SCOPED_TRACE(codec + " " + std::string(to_string(format)));
      ASSERT_FALSE(qps['I'].empty() || qps['P'].empty() || qps['B'].empty());
      EXPECT_EQ(std::set(qps['I'].begin(), qps['I'].end()), std::set{24});
      EXPECT_EQ(std::set(qps['P'].begin(), qps['P'].end()), std::set{27});
      for (const int qp : qps['B']) EXPECT_TRUE(qp == 33 || qp == 30) << qp; // Referenced ones lie between.
      EXPECT_TRUE(std::ranges::count(qps['B'], 33) > 0);
    }
  }
}

TEST(EncoderRate, ConstQpOfAv1IsOneQuantiserForAllPictures) {
  LANNER_NEEDS_TRACE();
  for (const std::string encoder : {"libsvtav1", "libaom-av1"}) {
    if (!test::has_encoder(encoder)) continue;
    EncoderOptions options = small_options(encoder);
    options.const_qp = QpByType{30, 30, 30};
    const auto indexes = HeaderTrace(test::encoded(options)).all("base_q_idx");
    ASSERT_FALSE(indexes.empty()) << encoder;
    // Entry 30 of the table of 64 quantisers that both libraries share.
    EXPECT_EQ(std::set(indexes.begin(), indexes.end()), std::set<std::int64_t>{120}) << encoder;
  }
}

TEST(EncoderRate, QpStaysWithinItsBounds) {
  LANNER_NEEDS_TRACE();
  for (const std::string codec : {"h264", "hevc"}) {
    LANNER_NEEDS_ENCODER(library_of(codec));
    for (const PixelFormat format : {PixelFormat::yuv420p, PixelFormat::yuv420p10}) {
      EncoderOptions options = small_options(codec);
      options.format = format;
      options.qp_min = QpByType{40, 40, 40};
      options.qp_max = QpByType{43, 43, 43};
      for (const auto& [type, qps] : HeaderTrace(test::encoded(options)).slice_qps(codec == "hevc"))
        for (const int qp : qps) EXPECT_TRUE(qp >= 40 && qp <= 43) << codec << " " << type << " " << qp;
    }
  }
  for (const std::string encoder : {"libsvtav1", "libaom-av1"}) {
    if (!test::has_encoder(encoder)) continue;
    EncoderOptions options = small_options(encoder);
    options.bit_rate = 10'000; // Far too few: QP goes to its bound.
    const auto free = HeaderTrace(test::encoded_noise(options)).all("base_q_idx");
    EXPECT_GT(*std::ranges::max_element(free), 80) << encoder;
    options.qp_max = QpByType{20, 20, 20};
    for (const auto index : HeaderTrace(test::encoded_noise(options)).all("base_q_idx"))
      EXPECT_LE(index, 80) << encoder;
    options.bit_rate = 50'000'000;
    options.qp_max.reset();
    options.qp_min = QpByType{40, 40, 40};
    const auto high = HeaderTrace(test::encoded_noise(options)).all("base_q_idx");
    for (std::size_t i = 1; i < high.size(); ++i) EXPECT_GE(high[i], 150) << encoder;
  }
}

TEST(EncoderRate, CbrKeepsToItsRateAlsoWhereThereIsNothingToSay) {
  for (const std::string codec : {"h264", "hevc"}) {
    LANNER_NEEDS_ENCODER(library_of(codec));
    EncoderOptions options = small_options(codec);
    options.rate_control = RateControl::cbr;
    options.bit_rate = 400'000;
    options.vbv_buffer_size = 100'000;
    const auto made = test::encoded(options, 30);
    // One second, plus or minus what the buffer holds.
    EXPECT_NEAR(static_cast<double>(made.bytes()) * 8, 400'000, 110'000) << codec;
    options.rate_control = RateControl::unspecified;
    options.vbv_buffer_size = 0;
    EXPECT_LT(test::encoded(options, 30).bytes() * 8, 300'000u) << codec; // The same rate as a mean alone.
  }
}

TEST(EncoderRate, CbrOfAv1) {
  for (const std::string encoder : {"libsvtav1", "libaom-av1"}) {
    if (!test::has_encoder(encoder)) continue;
    EncoderOptions options = small_options(encoder);
    options.rate_control = RateControl::cbr;
    options.bit_rate = 300'000;
    EXPECT_NEAR(static_cast<double>(test::encoded_noise(options, 29).bytes()) * 8, 290'000, 150'000)
        << encoder;
  }
}

TEST(EncoderRate, HrdTellsRateAndBuffer) {
  LANNER_NEEDS_TRACE();
  for (const std::string codec : {"h264", "hevc"}) {
    LANNER_NEEDS_ENCODER(library_of(codec));
    for (const bool constant : {true, false}) {
      SCOPED_TRACE(codec + (constant ? " cbr" : " vbr"));
      EncoderOptions options = small_options(codec);
      options.rate_control = constant ? RateControl::cbr : RateControl::vbr;
      options.bit_rate = constant ? 640'000 : 320'000;
      options.max_bit_rate = 640'000;
      options.vbv_buffer_size = 320'000;
      options.vbv_initial = 160'000;
      options.hrd = true;
      const HeaderTrace trace(test::encoded(options));
      const std::int64_t rate_scale = trace.first("bit_rate_scale"),
                         size_scale = trace.first("cpb_size_scale");
      EXPECT_EQ((trace.first("bit_rate_value_minus1[0]") + 1) << (6 + rate_scale), 640'000);
      EXPECT_EQ((trace.first("cpb_size_value_minus1[0]") + 1) << (4 + size_scale), 320'000);
      EXPECT_EQ(trace.first("cbr_flag[0]"), constant ? 1 : 0);
      // Of 90 kHz: half of the buffer at that rate.
      const char* delay =
          codec == "h264" ? "initial_cpb_removal_delay[0]" : "nal_initial_cpb_removal_delay[0]";
      EXPECT_NEAR(static_cast<double>(trace.first(delay)), 22'500, 600);
      options.hrd = false;
      EXPECT_FALSE(HeaderTrace(test::encoded(options)).has("cpb_size_value_minus1[0]"));
    }
  }
}

TEST(EncoderRate, ABoundOfTheRateAndItsBufferReachTheEncoder) {
  for (const std::string codec : {"h264", "hevc"}) {
    LANNER_NEEDS_ENCODER(library_of(codec));
    EncoderOptions options = small_options(codec);
    options.crf = 20;
    const auto free = test::encoded_noise(options, 20);
    options.max_bit_rate = 200'000;
    options.vbv_buffer_size = 60'000;
    options.vbv_initial = 30'000;
    const auto bounded = test::encoded_noise(options, 20);
    EXPECT_LT(bounded.bytes() * 3, free.bytes() * 2) << codec;
    const char* text =
        codec == "h264" ? "vbv_maxrate=200 vbv_bufsize=60" : "vbv-maxrate=200 vbv-bufsize=60 vbv-init=0.5";
    EXPECT_TRUE(says(bounded, text)) << codec;
    options.vbv_buffer_size = options.vbv_initial = 0;
    EXPECT_TRUE(says(test::encoded(options), codec == "h264" ? "vbv_bufsize=200" : "vbv-bufsize=200"))
        << codec;
  }
  if (test::has_encoder("libsvtav1")) {
    EncoderOptions options = small_options("libsvtav1");
    options.crf = 10;
    const std::size_t free = test::encoded_noise(options).bytes();
    options.max_bit_rate = 50'000;
    EXPECT_LT(test::encoded_noise(options).bytes(), free);
  }
}

TEST(EncoderRate, MpegKeepsTheQuantiserAndTheBuffer) {
  LANNER_NEEDS_ENCODER("mpeg4");
  std::size_t last = SIZE_MAX;
  for (const int qp : {2, 8, 31}) {
    EncoderOptions options = small_options("mpeg4");
    options.const_qp = QpByType{qp, qp, qp};
    const auto made = test::encoded(options);
    EXPECT_LT(made.bytes(), last) << qp;
    last = made.bytes();
    for (const Packet& packet : made.packets) EXPECT_EQ(packet.average_qp, static_cast<float>(qp));
  }
  EncoderOptions bounded = small_options("mpeg4");
  bounded.bit_rate = 20'000;
  bounded.b_frames = 2;
  bounded.qp_max = QpByType{5, 5, 5};
  for (const Packet& packet : test::encoded_noise(bounded, 6).packets) EXPECT_LE(packet.average_qp, 5);
  LANNER_NEEDS_ENCODER("mpeg2video");
  LANNER_NEEDS_TRACE();
  EncoderOptions options = small_options("mpeg2video");
  options.rate_control = RateControl::cbr;
  options.bit_rate = 800'000;
  options.vbv_buffer_size = 163'840;
  const HeaderTrace trace(test::encoded(options));
  EXPECT_EQ(trace.first("bit_rate_value"), 800'000 / 400);
  EXPECT_EQ(trace.first("vbv_buffer_size_value"), 163'840 / 16'384);
}

TEST(EncoderRate, MjpegKeepsTheQuantiser) {
  LANNER_NEEDS_ENCODER("mjpeg");
  EncoderOptions options = small_options("mjpeg");
  options.const_qp = QpByType{2, 2, 2};
  const std::size_t fine = test::encoded(options, 3).bytes();
  options.const_qp = QpByType{31, 31, 31};
  EXPECT_LT(test::encoded(options, 3).bytes() * 2, fine);
}

TEST(EncoderRate, QuantiserOfVp9) {
  LANNER_NEEDS_ENCODER("libvpx-vp9");
  EncoderOptions options = small_options("vp9");
  options.const_qp = QpByType{10, 10, 10};
  const std::size_t fine = test::encoded(options).bytes();
  options.const_qp = QpByType{60, 60, 60};
  EXPECT_LT(test::encoded(options).bytes() * 2, fine);
}

TEST(EncoderAnalysis, LookaheadAndAqOfX264AndX265) {
  for (const std::string codec : {"h264", "hevc"}) {
    LANNER_NEEDS_ENCODER(library_of(codec));
    const bool avc = codec == "h264";
    EncoderOptions options = small_options(codec);
    options.lookahead = 17;
    EXPECT_TRUE(says(test::encoded(options), avc ? "rc_lookahead=17" : "rc-lookahead=17")) << codec;
    options.lookahead.reset();
    options.spatial_aq = false;
    options.temporal_aq = true;
    const auto temporal = test::encoded(options);
    // Both libraries need the mode for what is temporal, and then give it no strength.
    EXPECT_TRUE(says(temporal, avc ? " aq=1:0.00" : " aq-strength=0.00")) << codec;
    EXPECT_TRUE(says(temporal, avc ? "mbtree=1" : " cutree")) << codec;
    options.spatial_aq = true;
    options.temporal_aq = false;
    const auto spatial = test::encoded(options);
    EXPECT_TRUE(says(spatial, avc ? " aq=1:" : " aq-mode=2")) << codec;
    EXPECT_TRUE(says(spatial, avc ? "mbtree=0" : "no-cutree")) << codec;
    options.spatial_aq = false;
    EXPECT_TRUE(says(test::encoded(options), avc ? " aq=0" : " aq-mode=0")) << codec;
  }
}

TEST(EncoderAnalysis, LookaheadHoldsPicturesBack) {
  // The first packet cannot come before that many pictures were seen, however fast the machine is.
  for (const std::string encoder : {"libx264", "libx265", "libaom-av1", "libvpx-vp9"}) {
    if (!test::has_encoder(encoder)) continue;
    EncoderOptions options = small_options(encoder);
    options.lookahead = 12;
    const auto made = create_encoder(options);
    for (int i = 0; i < 11; ++i) {
      const Image picture = test::pattern(options.format, 96, 64, i);
      ASSERT_TRUE(made->send(&picture, i));
      EXPECT_FALSE(made->receive().has_value()) << encoder << " " << i;
    }
  }
}

TEST(EncoderAnalysis, LookaheadChangesHowSvtDealsOutBits) {
  LANNER_NEEDS_ENCODER("libsvtav1");
  const auto with = [](int lookahead) {
    EncoderOptions options = small_options("libsvtav1");
    options.crf = 35;
    options.lookahead = lookahead;
    return test::encoded_noise(options, 48).content();
  };
  EXPECT_TRUE(with(0) == with(0));
  EXPECT_TRUE(with(0) != with(40));
}

TEST(EncoderAnalysis, SpatialAqOfAv1ChangesTheQuantiserWithinAPicture) {
  LANNER_NEEDS_TRACE();
  for (const std::string encoder : {"libsvtav1", "libaom-av1"}) {
    if (!test::has_encoder(encoder)) continue;
    for (const bool on : {true, false}) {
      EncoderOptions options = small_options(encoder);
      options.width = 256;
      options.height = 192;
      options.spatial_aq = on;
      const HeaderTrace trace(test::encoded_noise(options, 8));
      const auto segments = trace.all("segmentation_enabled"), deltas = trace.all("delta_q_present");
      EXPECT_EQ(std::ranges::count(segments, 1) + std::ranges::count(deltas, 1) > 0, on) << encoder;
    }
  }
}

} // namespace lanner
