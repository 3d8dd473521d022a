// The structure that encoders give a stream: pictures, slices, headers, timing, profiles and levels.

#include <algorithm>
#include <set>

#include <gtest/gtest.h>
#include <malloc.h>

#include "expect_error.h"
#include "video/bitstream/nal_units.h"
#include "video/encoded.h"
#include "video/write/encoder_tables.h"

namespace lanner {
namespace {

using test::HeaderTrace;
using test::small_options;

std::vector<int> keyframes_of(const test::EncodedStream& made) {
  std::vector<int> keys;
  for (const Packet& packet : made.packets)
    if (packet.key) keys.push_back(static_cast<int>(packet.pts));
  return keys;
}

/// Units of H.264 of a type, in each packet.
std::vector<int> units_of_type(const test::EncodedStream& made, int type) {
  std::vector<int> counts;
  for (const Packet& packet : made.packets) {
    counts.push_back(0);
    NalWalker walker(packet.bytes, 0);
    while (const auto unit = walker.next()) counts.back() += (byte_at(*unit, 0) & 31) == type;
  }
  return counts;
}

int slices_of(const Packet& packet) {
  int count = 0;
  NalWalker walker(packet.bytes, 0);
  while (const auto unit = walker.next()) {
    const int type = byte_at(*unit, 0) & 31;
    count += type == 1 || type == 5;
  }
  return count;
}

} // namespace

/// libx265 reads a delay that it did not set where there are fewer pictures than it holds back.
TEST(EncoderStream, FewPicturesHaveTimesThatGrow) {
  LANNER_NEEDS_ENCODER("libx265");
  mallopt(M_PERTURB, 128); // New memory is filled with 0x7f.
  for (int count = 1; count <= 6; ++count) {
    const test::EncodedStream made = test::encoded(small_options("hevc"), count);
    ASSERT_EQ(made.packets.size(), static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < made.packets.size(); ++i) {
      EXPECT_LE(made.packets[i].dts, made.packets[i].pts) << count;
      EXPECT_GE(made.packets[i].dts, -1024) << count;
      if (i > 0) EXPECT_GT(made.packets[i].dts, made.packets[i - 1].dts) << count;
    }
  }
  mallopt(M_PERTURB, 0);
}

TEST(EncoderStream, SlicesAreAsAskedFor) {
  LANNER_NEEDS_ENCODER("libx264");
  // 6 x 4 macroblocks.
  struct Case {
    SliceMode mode;
    int data, slices;
  };
  for (const Case& one :
       {Case{SliceMode::count, 2, 2}, Case{SliceMode::count, 4, 4}, Case{SliceMode::macroblocks, 5, 5},
        Case{SliceMode::rows, 1, 4}, Case{SliceMode::rows, 3, 2}}) {
    EncoderOptions options = small_options("h264");
    options.slice_mode = one.mode;
    options.slice_data = one.data;
    for (const Packet& packet : test::encoded(options, 6).packets)
      EXPECT_EQ(slices_of(packet), one.slices) << to_string(one.mode) << " " << one.data;
  }
  EncoderOptions options = small_options("h264");
  options.slice_mode = SliceMode::bytes;
  options.slice_data = 300;
  for (const Packet& packet : test::encoded_noise(options, 6).packets) {
    NalWalker walker(packet.bytes, 0);
    while (const auto unit = walker.next())
      if (const int type = byte_at(*unit, 0) & 31; type == 1 || type == 5) {
        EXPECT_LE(unit->size(), 300u);
      }
  }
}

TEST(EncoderStream, KeyframesComeAsAskedFor) {
  for (const std::string encoder : {"libx264", "libx265", "libaom-av1", "libvpx-vp9", "mpeg4"}) {
    if (!test::has_encoder(encoder)) continue;
    EncoderOptions options = small_options(encoder);
    options.gop = 8;
    std::vector<int> keys = keyframes_of(test::encoded(options, 20)); // Scenes may begin with more.
    keys.push_back(20);
    for (std::size_t i = 1; i < keys.size(); ++i) EXPECT_LE(keys[i] - keys[i - 1], 8) << encoder;
  }
  LANNER_NEEDS_TRACE();
  for (const std::string encoder : {"libx264", "libx265"}) {
    if (!test::has_encoder(encoder)) continue;
    EncoderOptions options = small_options(encoder);
    options.idr_period = 6;
    const auto made = test::encoded_noise(options, 14);
    EXPECT_EQ(keyframes_of(made), (std::vector{0, 6, 12})) << encoder;
    const auto types = HeaderTrace(made).all("nal_unit_type");
    const auto is_idr = [&](std::int64_t type) {
      return encoder == "libx264" ? type == 5 : type == 19 || type == 20;
    };
    EXPECT_EQ(std::ranges::count_if(types, is_idr), 3) << encoder;
  }
}

TEST(EncoderStream, BFrames) {
  LANNER_NEEDS_TRACE();
  for (const std::string codec : {"h264", "hevc"}) {
    if (!test::has_encoder(codec == "h264" ? "libx264" : "libx265")) continue;
    for (const int b_frames : {0, 2}) {
      EncoderOptions options = small_options(codec);
      options.b_frames = b_frames;
      const auto made = test::encoded(options);
      auto qps = HeaderTrace(made).slice_qps(codec == "hevc");
      EXPECT_EQ(qps['B'].empty(), b_frames == 0) << codec;
      const auto b = std::ranges::count(made.packets, PictureType::b, &Packet::picture_type);
      EXPECT_EQ(static_cast<std::size_t>(b), qps['B'].size()) << codec;
      EXPECT_EQ(made.packets[0].picture_type, PictureType::i);
    }
  }
  if (!test::has_encoder("libsvtav1")) return;
  for (const int b_frames : {0, 7}) {
    EncoderOptions options = small_options("libsvtav1");
    options.b_frames = b_frames;
    const auto shown = HeaderTrace(test::encoded(options, 17)).all("show_frame");
    EXPECT_EQ(std::ranges::count(shown, 0) > 0, b_frames > 0) << "hidden until their time comes";
  }
}

TEST(EncoderStream, PacketsTellTheirQp) {
  LANNER_NEEDS_ENCODER("libx264");
  for (const std::string codec : {"h264", "hevc"}) {
    for (const PixelFormat format : {PixelFormat::yuv420p, PixelFormat::yuv420p10}) {
      if (codec == "hevc" && !test::has_encoder("libx265")) continue;
      EncoderOptions options = small_options(codec);
      options.format = format;
      options.const_qp = QpByType{31, 31, 31};
      for (const Packet& packet : test::encoded(options).packets)
        EXPECT_EQ(packet.average_qp, 31) << codec << " " << to_string(format);
    }
  }
}

TEST(EncoderStream, QpOfH264IsThatOfItsSlicesWithThreadsToo) {
  LANNER_NEEDS_ENCODER("libx264");
  LANNER_NEEDS_TRACE();
  struct Case {
    const char* params;
    PixelFormat format;
  };
  for (const auto& [params, format] :
       {Case{"", PixelFormat::yuv420p},
        Case{"weightp=2:weightb=1:ref=4:b-pyramid=strict", PixelFormat::yuv420p10},
        Case{"cabac=0:direct=temporal", PixelFormat::yuv444p}, Case{"tff=1", PixelFormat::yuv420p},
        Case{"bff=1:open-gop=1:keyint=5", PixelFormat::yuv420p},
        Case{"aud=1:fake-interlaced=1", PixelFormat::yuv422p}}) {
    EncoderOptions options = small_options("libx264");
    options.threads = 3;
    options.format = format;
    options.crf = 28;
    options.b_frames = 2;
    if (*params) options.codec_options["x264-params"] = params;
    SCOPED_TRACE(params);
    const auto made = test::encoded_noise(options);
    std::map<char, std::vector<int>> told;
    for (const Packet& packet : made.packets)
      told[to_string(packet.picture_type)[0]].push_back(static_cast<int>(packet.average_qp));
    EXPECT_EQ(told, HeaderTrace(made).slice_qps(false));
  }
}

TEST(EncoderStream, TimingOfTheVui) {
  LANNER_NEEDS_TRACE();
  for (const std::string codec : {"h264", "hevc"}) {
    if (!test::has_encoder(codec == "h264" ? "libx264" : "libx265")) continue;
    for (const bool apart : {false, true}) {
      EncoderOptions options = small_options(codec);
      options.num_units_in_tick = 1001;
      options.time_scale = 48'000;
      options.global_header = apart;
      auto made = test::encoded(options, 3);
      std::vector<std::byte> whole = made.stream.extradata;
      EXPECT_EQ(whole.empty(), !apart);
      whole.insert(whole.end(), made.packets[0].bytes.begin(), made.packets[0].bytes.end());
      made.packets[0].bytes = whole;
      const HeaderTrace trace(made);
      const std::string prefix = codec == "h264" ? "" : "vui_";
      EXPECT_EQ(trace.first(prefix + "num_units_in_tick"), 1001) << codec;
      EXPECT_EQ(trace.first(prefix + "time_scale"), 48'000) << codec;
    }
  }
}

TEST(EncoderStream, HeadersStandAtEachIdrOrAtTheFirst) {
  LANNER_NEEDS_ENCODER("libx264");
  constexpr int sequence = 7;
  EncoderOptions options = small_options("h264");
  options.gop = 4;
  options.b_frames = 0;
  EXPECT_EQ(units_of_type(test::encoded(options, 9), sequence), (std::vector{1, 0, 0, 0, 1, 0, 0, 0, 1}));
  options.repeat_headers = false;
  EXPECT_EQ(units_of_type(test::encoded(options, 9), sequence), (std::vector{1, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(test::encoded(options, 1).stream.extradata.empty());
  options.repeat_headers.reset();
  options.global_header = true;
  EXPECT_EQ(units_of_type(test::encoded(options, 9), sequence), std::vector<int>(9, 0));
  options.repeat_headers = true;
  EXPECT_EQ(units_of_type(test::encoded(options, 9), sequence), (std::vector{1, 0, 0, 0, 1, 0, 0, 0, 1}));
}

TEST(EncoderStream, ProfilesAndLevels) {
  LANNER_NEEDS_TRACE();
  if (test::has_encoder("libx264")) {
    for (const auto& [profile, number] : {std::pair{"baseline", 66}, {"main", 77}, {"high", 100}}) {
      EncoderOptions options = small_options("h264");
      options.profile = profile;
      options.level = "4.1";
      const HeaderTrace trace(test::encoded(options, 3));
      EXPECT_EQ(trace.first("profile_idc"), number) << profile;
      EXPECT_EQ(trace.first("level_idc"), 41);
    }
  }
  if (test::has_encoder("libx265")) {
    EncoderOptions options = small_options("hevc");
    options.format = PixelFormat::yuv420p10;
    options.profile = "main10";
    options.level = "5.1";
    options.tier = "high";
    const HeaderTrace trace(test::encoded(options, 3));
    EXPECT_EQ(trace.first("general_profile_idc"), 2);
    EXPECT_EQ(trace.first("general_level_idc"), 153);
    EXPECT_EQ(trace.first("general_tier_flag"), 1);
  }
  if (test::has_encoder("libsvtav1")) {
    EncoderOptions options = small_options("libsvtav1");
    options.level = "5.1";
    EXPECT_EQ(HeaderTrace(test::encoded(options, 3)).first("seq_level_idx[0]"), 13);
  }
}

TEST(EncoderStream, ReferencesInList0) {
  LANNER_NEEDS_TRACE();
  for (const std::string codec : {"h264", "hevc"}) {
    if (!test::has_encoder(codec == "h264" ? "libx264" : "libx265")) continue;
    EncoderOptions options = small_options(codec);
    options.b_frames = 0;
    options.num_ref_l0 = 4;
    const HeaderTrace trace(test::encoded(options));
    if (codec == "h264") {
      EXPECT_EQ(trace.first("max_num_ref_frames"), 4);
    }
    const auto most =
        trace.all(codec == "h264" ? "num_ref_idx_l0_default_active_minus1" : "num_ref_idx_l0_active_minus1");
    ASSERT_FALSE(most.empty());
    EXPECT_EQ(*std::ranges::max_element(most), 3) << codec;
  }
}

TEST(EncoderStream, PresetsAndTunings) {
  LANNER_NEEDS_ENCODER("libx264");
  const auto with = [](const std::string& preset, Tuning tuning) {
    EncoderOptions options = small_options("h264");
    options.preset = preset;
    options.tuning = tuning;
    return test::encoded(options, 4).content();
  };
  const auto says = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(says(with("P1", Tuning::unspecified), "subme=0"));
  EXPECT_TRUE(says(with("p5", Tuning::high_quality), "subme=7"));
  EXPECT_TRUE(says(with("P7", Tuning::unspecified), "subme=9"));
  const std::string low = with("P4", Tuning::low_latency);
  EXPECT_TRUE(says(low, "bframes=0") && says(low, "sliced_threads=0"));
  EXPECT_FALSE(says(low, "mbtree=1"));
  EXPECT_TRUE(says(with("P4", Tuning::ultra_low_latency), "bframes=0"));
}

TEST(EncoderStream, EachPresetIsOneOfTheEncoder) {
  LANNER_NEEDS_FFMPEG();
  for (const PresetRow& row : preset_rows) {
    const std::string encoder(row.encoder);
    if (!test::has_encoder(encoder)) continue;
    EncoderOptions options = small_options(encoder);
    if (encoder == "libx264rgb") options.format = PixelFormat::rgb24;
    std::vector<std::string> streams;
    for (const char* preset : {"P1", "P2", "P3", "P4", "P5", "P6", "P7"}) {
      options.preset = preset;
      const bool end = streams.empty() || std::string(preset) == "P7";
      if (end)
        streams.push_back(test::encoded_noise(options, 4).content());
      else
        EXPECT_TRUE(create_encoder(options) != nullptr) << encoder << preset;
    }
    EXPECT_NE(streams[0], streams[1]) << encoder;
  }
}

TEST(EncoderStream, LowLatencyOfX265) {
  LANNER_NEEDS_ENCODER("libx265");
  EncoderOptions options = small_options("hevc");
  options.tuning = Tuning::low_latency;
  options.multipass = Multipass::disabled; // The only one that software has.
  const std::string text = test::encoded(options, 4).content();
  for (const char* part : {"bframes=0", "rc-lookahead=0", "no-cutree"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
  options.b_frames = 2; // What is given beside a tuning wins.
  options.lookahead = 5;
  EXPECT_NE(test::encoded(options, 4).content().find("bframes=2"), std::string::npos);
}

TEST(EncoderStream, UltraLowLatencyGivesEachPacketAtOnce) {
  for (const std::string encoder : {"libx264", "libx265", "libaom-av1", "libvpx-vp9"}) {
    if (!test::has_encoder(encoder)) continue;
    EncoderOptions options = small_options(encoder);
    options.threads = 0;
    options.tuning = Tuning::ultra_low_latency;
    const auto made = create_encoder(options);
    for (int i = 0; i < 5; ++i) {
      const Image picture = test::pattern(options.format, 96, 64, i);
      ASSERT_TRUE(made->send(&picture, i));
      EXPECT_TRUE(made->receive().has_value()) << encoder << " " << i;
    }
  }
}

TEST(EncoderStream, TuningOfAv1WithoutReordering) {
  LANNER_NEEDS_ENCODER("libsvtav1");
  LANNER_NEEDS_TRACE();
  for (const Tuning tuning : {Tuning::low_latency, Tuning::ultra_low_latency}) {
    EncoderOptions options = small_options("libsvtav1");
    options.tuning = tuning;
    const auto shown = HeaderTrace(test::encoded(options, 12)).all("show_frame");
    EXPECT_EQ(std::ranges::count(shown, 0), 0) << to_string(tuning);
  }
}

TEST(EncoderStream, SvtIsClosedWithoutAPicture) {
  LANNER_NEEDS_ENCODER("libsvtav1");
  EXPECT_TRUE(create_encoder(small_options("libsvtav1")) != nullptr);
}

} // namespace lanner
