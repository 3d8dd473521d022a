// Times of pictures that come without one, before and after the rate changes, and their decoding times.

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "expect_error.h"
#include "video/encoded.h"
#include "video/write/default_times.h"

namespace lanner {
namespace {

using Ticks = std::vector<std::int64_t>;

const std::vector<std::string> encoders = {"libx264", "libx265", "libsvtav1", "libaom-av1"};

struct RateChange {
  int before; ///< The number of the picture.
  Rational rate;
};

/// Encodes pictures without a pts.
test::EncodedStream encoded_without_times(const EncoderOptions& options, int frames,
                                          const std::vector<RateChange>& changes) {
  const auto encoder = create_encoder(options);
  test::EncodedStream made;
  const auto drain = [&] {
    while (auto packet = encoder->receive()) made.packets.push_back(*packet);
  };
  for (int i = 0; i < frames; ++i) {
    for (const RateChange& change : changes)
      if (change.before == i) encoder->reconfigure({.rate = change.rate});
    const Image picture = test::pattern(options.format, options.width, options.height, i);
    while (!encoder->send(&picture)) drain();
    drain();
  }
  made.stream = encoder->stream();
  while (!encoder->send(nullptr)) drain();
  while (!encoder->finished()) drain();
  made.restarts = encoder->restarts();
  return made;
}

Ticks sorted_times(const test::EncodedStream& made) {
  Ticks times;
  for (const Packet& packet : made.packets) times.push_back(packet.pts);
  std::ranges::sort(times);
  return times;
}

void expect_decodable_order(const test::EncodedStream& made) {
  for (std::size_t i = 0; i < made.packets.size(); ++i) {
    EXPECT_LE(made.packets[i].dts, made.packets[i].pts) << i;
    if (i > 0) {
      EXPECT_GT(made.packets[i].dts, made.packets[i - 1].dts) << i;
    }
  }
}

EncoderOptions options_of(const std::string& encoder, Rational time_base) {
  EncoderOptions options = test::small_options(encoder);
  options.rate = {25, 1};
  options.time_base = time_base;
  options.bit_rate = 100'000;
  if (encoder.starts_with("libx26")) options.b_frames = 3;
  return options;
}

Ticks times_at(DefaultTimes& times, int count) {
  Ticks found;
  for (int i = 0; i < count; ++i) {
    found.push_back(times.next());
    times.take(found.back());
  }
  return found;
}

} // namespace

TEST(DefaultTimes, RoundingsDoNotAddUp) {
  DefaultTimes times;
  times.set_rate({30, 1}, {1, 1000});
  EXPECT_EQ(times_at(times, 5), (Ticks{0, 33, 67, 100, 133}));
  times.set_rate({24, 1}, {1, 1000});
  EXPECT_EQ(times_at(times, 4), (Ticks{175, 216, 258, 300}));
}

TEST(DefaultTimes, FollowATimeThatWasGiven) {
  DefaultTimes times;
  times.set_rate({30, 1}, {1, 1000});
  times.take(50);
  EXPECT_EQ(times_at(times, 3), (Ticks{83, 117, 150}));
  times.take(1000);
  EXPECT_EQ(times_at(times, 2), (Ticks{1033, 1067}));
}

TEST(DefaultTimes, FramesShorterThanATickAreRefused) {
  DefaultTimes times;
  times.set_rate({50, 1}, {1, 25});
  EXPECT_EQ(times_at(times, 1), (Ticks{0}));
  LANNER_EXPECT_ERROR(times.next(), ErrorCode::invalid_argument,
                      "at 50/1 frames a second, each shorter than a tick of 1/25 s; give it a pts, or the "
                      "encoder a finer time_base");
  times.take(INT64_MAX);
  times.set_rate({25, 1}, {1, 25});
  LANNER_EXPECT_ERROR(times.next(), ErrorCode::invalid_argument, "after pts 9223372036854775807");
}

TEST(EncoderTimes, FollowTheRateThatHolds) {
  for (const std::string& encoder : encoders) {
    if (!test::has_encoder(encoder)) continue;
    SCOPED_TRACE(encoder);
    const auto made = encoded_without_times(options_of(encoder, {1, 1000}), 14,
                                            {{5, {24, 1}}, {9, {10, 1}}, {11, {50, 1}}});
    EXPECT_EQ(sorted_times(made), (Ticks{0, 40, 80, 120, 160, 202, 243, 285, 327, 427, 527, 547, 567, 587}));
    expect_decodable_order(made);
    EXPECT_EQ(made.restarts.size(), 3u);
    EXPECT_EQ(test::decoded(made).size(), 14u);
  }
}

TEST(EncoderTimes, TicksStayThoseOfTheFirstRate) {
  for (const std::string& encoder : encoders) {
    if (!test::has_encoder(encoder)) continue;
    SCOPED_TRACE(encoder);
    const auto made = encoded_without_times(options_of(encoder, {}), 12, {{6, {10, 1}}});
    EXPECT_EQ(made.stream.time_base, (Rational{1, 25}));
    EXPECT_EQ(sorted_times(made), (Ticks{0, 1, 2, 3, 4, 5, 8, 10, 13, 15, 18, 20}));
    expect_decodable_order(made);
    EXPECT_EQ(test::decoded(made).size(), 12u);
  }
}

TEST(EncoderTimes, DecodingTimesGrowOverShortSessionsOfOtherRates) {
  for (const std::string& encoder : encoders) {
    if (!test::has_encoder(encoder)) continue;
    for (const auto& [first, second] :
         {std::pair{Rational{5, 1}, Rational{100, 1}}, {Rational{100, 1}, Rational{5, 1}}})
      for (const int length : {1, 2, 3, 7}) {
        SCOPED_TRACE(encoder + " " + std::to_string(first.num) + " " + std::to_string(length));
        const auto made =
            encoded_without_times(options_of(encoder, {1, 1000}), 14, {{2, first}, {2 + length, second}});
        expect_decodable_order(made);
        EXPECT_EQ(made.packets.size(), 14u);
        EXPECT_EQ(test::decoded(made).size(), 14u);
      }
  }
}

TEST(EncoderTimes, AFrameShorterThanATickIsRefusedAndTheEncoderGoesOn) {
  LANNER_NEEDS_ENCODER("libx264");
  const auto encoder = create_encoder(options_of("libx264", {}));
  const Image picture = test::pattern(PixelFormat::yuv420p, 96, 64, 0);
  EXPECT_TRUE(encoder->send(&picture));
  encoder->reconfigure({.rate = {50, 1}});
  LANNER_EXPECT_ERROR(encoder->send(&picture), ErrorCode::invalid_argument,
                      "50/1 frames a second, each shorter than a tick of 1/25 s");
  EXPECT_TRUE(encoder->send(&picture, 1)); // A time of its own is taken.
  encoder->reconfigure({.rate = {25, 1}});
  EXPECT_TRUE(encoder->send(&picture));
}

TEST(EncoderTimes, TheStreamsTimingIsThatOfTheNewRate) {
  LANNER_NEEDS_TRACE();
  for (const std::string encoder : {"libx264", "libx265"}) {
    if (!test::has_encoder(encoder)) continue;
    SCOPED_TRACE(encoder);
    const bool avc = encoder == "libx264";
    const auto made = encoded_without_times(options_of(encoder, {}), 8, {{4, {10, 1}}});
    const test::HeaderTrace trace(made);
    const std::string prefix = avc ? "" : "vui_";
    const Ticks scales = trace.all(prefix + "time_scale"), units = trace.all(prefix + "num_units_in_tick");
    ASSERT_GE(scales.size(), 2u);
    ASSERT_EQ(scales.size(), units.size());
    const std::int64_t ticks_a_frame = avc ? 2 : 1;
    EXPECT_EQ(scales.front(), 25 * ticks_a_frame * units.front());
    EXPECT_EQ(scales.back(), 10 * ticks_a_frame * units.back());
  }
}

TEST(EncoderTimes, TheStreamsTimingIsTheRateWhereTicksAreFiner) {
  LANNER_NEEDS_TRACE();
  for (const std::string encoder : {"libx264", "libx265"}) {
    if (!test::has_encoder(encoder)) continue;
    const bool avc = encoder == "libx264";
    const std::string prefix = avc ? "" : "vui_";
    const std::int64_t ticks_a_frame = avc ? 2 : 1;
    for (const Rational time_base : {Rational{1, 1000}, Rational{1, 90'000}, Rational{1, 25}})
      for (const bool apart : {false, true}) {
        SCOPED_TRACE(encoder + " " + std::to_string(time_base.den) + (apart ? " apart" : ""));
        EncoderOptions options = options_of(encoder, time_base);
        options.gop = 4;
        options.global_header = apart;
        auto made = encoded_without_times(options, 9, {});
        EXPECT_EQ(sorted_times(made).back(), 8 * time_base.den / 25);
        std::vector<std::byte> whole = made.stream.extradata;
        EXPECT_EQ(whole.empty(), !apart);
        whole.insert(whole.end(), made.packets[0].bytes.begin(), made.packets[0].bytes.end());
        made.packets[0].bytes = whole;
        const test::HeaderTrace trace(made);
        const Ticks scales = trace.all(prefix + "time_scale"),
                    units = trace.all(prefix + "num_units_in_tick");
        ASSERT_GE(scales.size(), apart ? 1u : 3u);
        ASSERT_EQ(scales.size(), units.size());
        for (std::size_t i = 0; i < scales.size(); ++i)
          EXPECT_EQ(scales[i], 25 * ticks_a_frame * units[i]) << i;
        EXPECT_EQ(test::decoded(made).size(), 9u);
      }
  }
}

TEST(EncoderTimes, TheStreamsTimingIsTheRateWithAnHrdToo) {
  LANNER_NEEDS_TRACE();
  LANNER_NEEDS_ENCODER("libx264");
  EncoderOptions options = options_of("libx264", {1, 1000});
  options.rate_control = RateControl::cbr;
  options.hrd = true;
  const auto made = encoded_without_times(options, 9, {});
  EXPECT_EQ(sorted_times(made), (Ticks{0, 40, 80, 120, 160, 200, 240, 280, 320}));
  const test::HeaderTrace trace(made);
  EXPECT_EQ(trace.first("time_scale"), 50 * trace.first("num_units_in_tick"));
}

} // namespace lanner
