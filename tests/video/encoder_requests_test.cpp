// What is asked of an encoder while it runs: IDRs, headers, SEI messages, other rates and sizes.

#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "expect_error.h"
#include "video/bitstream/sei.h"
#include "video/encoded.h"
#include "video/write/stream_insert.h"

namespace lanner {
namespace {

using test::HeaderTrace;
using test::small_options;

const std::vector<std::string> encoders = {"libx264", "libx265", "libsvtav1", "libaom-av1"};

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void expect_growing_times(const test::EncodedStream& made, std::size_t frames) {
  ASSERT_EQ(made.packets.size(), frames);
  std::vector<std::int64_t> pts;
  for (std::size_t i = 0; i < frames; ++i) {
    const Packet& packet = made.packets[i];
    pts.push_back(packet.pts);
    EXPECT_LE(packet.dts, packet.pts) << i;
    if (i > 0) {
      EXPECT_GT(packet.dts, made.packets[i - 1].dts) << i;
    }
  }
  std::ranges::sort(pts);
  for (std::size_t i = 0; i < frames; ++i) EXPECT_EQ(pts[i], static_cast<std::int64_t>(i));
}

TEST(Encoder, KeepsTheSchedulingOfTheThreadThatOpensIt) {
  LANNER_NEEDS_ENCODER("libsvtav1");
  const int before = ::sched_getscheduler(0);
  {
    const auto encoder = create_encoder(small_options("libsvtav1"));
    EXPECT_EQ(::sched_getscheduler(0), before);
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task"))
      EXPECT_EQ(::sched_getscheduler(std::stoi(thread.path().filename())), before) << thread.path();
  }
  EXPECT_EQ(::sched_getscheduler(0), before);
}

} // namespace

TEST(EncoderRequests, AnIdrIsForced) {
  for (const std::string& encoder : encoders) {
    if (!test::has_encoder(encoder)) continue;
    SCOPED_TRACE(encoder);
    const auto made = test::encoded(small_options(encoder), 12, [](Encoder&, int i) {
      PictureRequest request;
      request.force_idr = i == 5;
      return request;
    });
    expect_growing_times(made, 12);
    std::vector<std::int64_t> keys;
    for (const Packet& packet : made.packets)
      if (packet.key) keys.push_back(packet.pts);
    if (encoder == "libaom-av1") std::erase(keys, 6); // It makes another one behind it.
    EXPECT_EQ(keys, (std::vector<std::int64_t>{0, 5}));
    // SVT-AV1 1.4 takes no picture types.
    ASSERT_EQ(made.restarts.size(), encoder == "libsvtav1" ? 1u : 0u);
    if (encoder == "libsvtav1") {
      EXPECT_EQ(made.restarts[0].pts, 5);
    }
    // Decoding begins there.
    test::EncodedStream tail = made;
    std::erase_if(tail.packets, [](const Packet& packet) { return packet.pts < 5; });
    EXPECT_EQ(test::decoded(tail).size(), 7u);
  }
}

TEST(EncoderRequests, AnIdrThatIsAskedForTwiceIsOne) {
  for (const std::string& encoder : encoders) {
    if (!test::has_encoder(encoder)) continue;
    SCOPED_TRACE(encoder);
    const auto made = test::encoded(small_options(encoder), 12, [](Encoder& running, int i) {
      PictureRequest request;
      request.force_idr = i == 5;
      if (i == 5) running.reconfigure({.force_idr = true});
      return request;
    });
    std::vector<std::int64_t> keys;
    for (const Packet& packet : made.packets)
      if (packet.key) keys.push_back(packet.pts);
    if (encoder == "libaom-av1") std::erase(keys, 6); // It makes another one behind it.
    EXPECT_EQ(keys, (std::vector<std::int64_t>{0, 5}));
    for (const EncoderRestart& restart : made.restarts) EXPECT_EQ(restart.reason, "force_idr");
  }
}

TEST(EncoderRequests, HeadersStandInFrontOfAPicture) {
  for (const std::string& encoder : encoders) {
    if (!test::has_encoder(encoder)) continue;
    for (const bool apart : {false, true}) {
      SCOPED_TRACE(encoder + (apart ? " global_header" : ""));
      EncoderOptions options = small_options(encoder);
      options.global_header = apart;
      const auto made = test::encoded(options, 8, [](Encoder&, int i) {
        PictureRequest request;
        request.emit_headers = i == 3;
        return request;
      });
      const StreamInserter inserter(made.stream.codec);
      for (const Packet& packet : made.packets)
        if (packet.pts > 0) {
          EXPECT_EQ(inserter.has_headers(packet.bytes), packet.pts == 3) << packet.pts;
        }
      EXPECT_EQ(test::decoded(made).size(), 8u);
    }
  }
}

TEST(EncoderRequests, SeiIsReadBack) {
  // Bytes that would begin a unit are escaped.
  const std::vector<SeiMessage> messages = {
      {5, bytes_of(std::string("0123456789abcdef\0\0\1 hello \0\0\0", 29))},
      {4, std::vector<std::byte>(300, std::byte{0xb5})}};
  for (const std::string encoder : {"libx264", "libx265"}) {
    if (!test::has_encoder(encoder)) continue;
    for (const bool apart : {false, true}) {
      SCOPED_TRACE(encoder);
      EncoderOptions options = small_options(encoder);
      options.global_header = apart;
      const auto made = test::encoded(options, 10, [&](Encoder&, int i) {
        PictureRequest request;
        if (i % 4 == 2) request.sei = messages;
        return request;
      });
      const SeiScanner scanner(made.stream);
      for (const Packet& packet : made.packets) {
        const auto found = scanner.scan(packet.bytes);
        for (const SeiMessage& message : messages) {
          const bool has = std::ranges::any_of(found, [&](const SeiMessage& one) {
            return one.type == message.type && one.bytes == message.bytes;
          });
          EXPECT_EQ(has, packet.pts % 4 == 2) << packet.pts << " " << message.type;
        }
      }
      EXPECT_EQ(test::decoded(made).size(), 10u);
    }
  }
}

TEST(EncoderRequests, MetadataOfAv1IsReadBack) {
  for (const std::string encoder : {"libsvtav1", "libaom-av1"}) {
    if (!test::has_encoder(encoder)) continue;
    const std::vector<SeiMessage> messages = {{4, bytes_of("\xb5 text")}};
    const auto made = test::encoded(small_options(encoder), 6, [&](Encoder&, int i) {
      PictureRequest request;
      if (i == 2) request.sei = messages;
      return request;
    });
    const SeiScanner scanner(made.stream);
    for (const Packet& packet : made.packets) {
      const auto found = scanner.scan(packet.bytes);
      EXPECT_EQ(found.size(), packet.pts == 2 ? 1u : 0u) << encoder;
      if (!found.empty()) {
        EXPECT_EQ(found[0].bytes, messages[0].bytes);
      }
    }
    EXPECT_EQ(test::decoded(made).size(), 6u);
  }
}

TEST(EncoderRequests, WrongRequestsAreNamed) {
  LANNER_NEEDS_ENCODER("libx264");
  const auto encoder = create_encoder(small_options("h264"));
  const Image picture = test::pattern(PixelFormat::yuv420p, 96, 64, 0);
  PictureRequest request;
  request.sei = {{5, bytes_of("short")}};
  LANNER_EXPECT_ERROR(encoder->send(&picture, 0, request), ErrorCode::invalid_argument,
                      "with 5 bytes, expected a UUID");
  request.sei = {{-1, {}}};
  LANNER_EXPECT_ERROR(encoder->send(&picture, 0, request), ErrorCode::invalid_argument,
                      "type -1, expected 0 to 65535");
  request.sei = {{4, std::vector<std::byte>(2 << 20)}};
  LANNER_EXPECT_ERROR(encoder->send(&picture, 0, request), ErrorCode::limit_exceeded, "2097152 bytes of SEI");
  EXPECT_TRUE(encoder->send(&picture, 4));
  LANNER_EXPECT_ERROR(encoder->send(&picture, 4), ErrorCode::invalid_argument, "pts 4 after pts 4");
  EXPECT_TRUE(encoder->send(&picture)); // Follows by one frame.
  if (!test::has_encoder("mpeg4")) return;
  const auto other = create_encoder(small_options("mpeg4"));
  request.sei = {{4, bytes_of("x")}};
  LANNER_EXPECT_ERROR(other->send(&picture, 0, request), ErrorCode::unsupported, "this codec has none");
  request = PictureRequest();
  request.emit_headers = true;
  LANNER_EXPECT_ERROR(other->send(&picture, 0, request), ErrorCode::unsupported, "has no parameter sets");
}

TEST(EncoderReconfigures, X264ChangesItsRateAsItRuns) {
  LANNER_NEEDS_ENCODER("libx264");
  EncoderOptions options = small_options("h264");
  options.rate_control = RateControl::cbr;
  options.tuning = Tuning::ultra_low_latency;
  options.bit_rate = 200'000;
  options.vbv_buffer_size = 50'000;
  const auto made = test::encoded_noise(options, 28, [](Encoder& encoder, int i) {
    if (i == 14) {
      EncoderReconfigure change;
      EXPECT_EQ(encoder.reconfigurable().bit_rate, 200'000);
      change.bit_rate = 800'000;
      change.vbv_buffer_size = 200'000;
      encoder.reconfigure(change);
      EXPECT_EQ(encoder.reconfigurable().bit_rate, 800'000);
    }
    return PictureRequest();
  });
  EXPECT_TRUE(made.restarts.empty());
  expect_growing_times(made, 28);
  EXPECT_FALSE(made.packets[14].key);
  std::size_t before = 0, after = 0;
  for (const Packet& packet : made.packets)
    (packet.pts < 14 ? before : after) += packet.pts == 0 || packet.pts == 14 ? 0 : packet.bytes.size();
  EXPECT_GT(after, before * 2);
}

TEST(EncoderReconfigures, OthersStartAnewAtAnIdr) {
  for (const std::string& encoder : encoders) {
    if (!test::has_encoder(encoder)) continue;
    for (const bool apart : {false, true}) {
      SCOPED_TRACE(encoder + (apart ? " global_header" : ""));
      EncoderOptions options = small_options(encoder);
      options.bit_rate = 100'000;
      options.global_header = apart;
      const auto made = test::encoded_noise(options, 20, [](Encoder& running, int i) {
        if (i == 10) {
          EncoderReconfigure change;
          change.bit_rate = 2'000'000;
          running.reconfigure(change);
        }
        return PictureRequest();
      });
      expect_growing_times(made, 20);
      ASSERT_EQ(made.restarts.size(), 1u);
      EXPECT_EQ(made.restarts[0].pts, 10);
      EXPECT_EQ(made.restarts[0].reason, "bit rate");
      std::size_t before = 0, after = 0;
      for (const Packet& packet : made.packets) {
        (packet.pts < 10 ? before : after) += packet.bytes.size();
        if (packet.pts == 10) {
          EXPECT_TRUE(packet.key);
        }
      }
      EXPECT_GT(after * 2, before * 3);
      EXPECT_EQ(test::decoded(made).size(), 20u);
    }
  }
}

TEST(EncoderReconfigures, DecodingTimesGrowAfterASessionOfFewPictures) {
  for (const std::string& encoder : encoders) {
    if (!test::has_encoder(encoder)) continue;
    for (const int begin : {1, 2}) {
      SCOPED_TRACE(encoder + " " + std::to_string(begin));
      EncoderOptions options = small_options(encoder);
      options.bit_rate = 100'000;
      if (encoder.starts_with("libx26")) options.b_frames = 3;
      const auto made = test::encoded(options, 12, [&](Encoder& running, int i) {
        if (i == begin) running.reconfigure({.bit_rate = 200'000});
        return PictureRequest();
      });
      EXPECT_EQ(made.restarts.size(), 1u);
      expect_growing_times(made, 12);
      EXPECT_EQ(test::decoded(made).size(), 12u);
    }
  }
}

TEST(EncoderReconfigures, HalfOfTheRateTakesItsBoundAndItsBufferAlong) {
  LANNER_NEEDS_ENCODER("libx264");
  EncoderOptions options = small_options("h264");
  options.rate_control = RateControl::cbr;
  options.bit_rate = options.max_bit_rate = 400'000;
  options.vbv_initial = 300'000;
  const auto encoder = create_encoder(options);
  EncoderReconfigure change;
  change.bit_rate = encoder->reconfigurable().bit_rate / 2;
  encoder->reconfigure(change);
  EXPECT_EQ(encoder->reconfigurable().vbv_buffer_size, 200'000);
  EXPECT_EQ(encoder->reconfigurable().vbv_initial, 200'000);
}

TEST(EncoderReconfigures, RateControlFrameRateAndTheRest) {
  LANNER_NEEDS_ENCODER("libx264");
  LANNER_NEEDS_TRACE();
  EncoderOptions options = small_options("h264");
  options.bit_rate = 200'000;
  const auto made = test::encoded(options, 9, [](Encoder& encoder, int i) {
    EncoderReconfigure change;
    if (i == 3) change.rate = {50, 1};
    if (i == 6)
      change.rate_control = RateControl::cbr, change.vbv_buffer_size = 100'000, change.vbv_initial = 50'000;
    if (i > 0) encoder.reconfigure(change);
    return PictureRequest();
  });
  expect_growing_times(made, 9);
  ASSERT_EQ(made.restarts.size(), 2u);
  EXPECT_EQ(made.restarts[0].reason, "frame rate");
  EXPECT_EQ(made.restarts[1].reason, "rate control, VBV buffer size, VBV initial fill");
  EXPECT_NE(made.content().find("vbv_bufsize=100"), std::string::npos);
}

TEST(EncoderReconfigures, SizeChangesWithinWhatWasDeclared) {
  for (const std::string encoder : {"libx264", "libx265"}) {
    if (!test::has_encoder(encoder)) continue;
    EncoderOptions options = small_options(encoder);
    options.max_width = 128;
    options.max_height = 96;
    const auto made = test::encoded(options, 8, [](Encoder& running, int i) {
      EncoderReconfigure change;
      change.width = 128;
      change.height = 80;
      if (i == 4) running.reconfigure(change);
      return PictureRequest();
    });
    expect_growing_times(made, 8);
    ASSERT_EQ(made.restarts.size(), 1u);
    EXPECT_EQ(made.restarts[0].reason, "size");
    const auto images = test::decoded(made);
    ASSERT_EQ(images.size(), 8u);
    EXPECT_EQ(images[3].width, 96);
    EXPECT_EQ(images[4].width, 128);
    EXPECT_EQ(images[4].height, 80);
    EXPECT_EQ(made.stream.width, 128);
  }
}

TEST(EncoderReconfigures, WhatCannotChangeIsRefusedAndNothingIsChanged) {
  LANNER_NEEDS_ENCODER("libx264");
  EncoderOptions options = small_options("h264");
  options.bit_rate = 200'000;
  const auto encoder = create_encoder(options);
  const auto refused = [&](const EncoderReconfigure& change, ErrorCode code, const char* line) {
    LANNER_EXPECT_ERROR(encoder->reconfigure(change), code, line);
    EXPECT_EQ(encoder->reconfigurable().bit_rate, 200'000);
    EXPECT_EQ(encoder->reconfigurable().width, 96);
  };
  refused({.width = 128, .height = 64}, ErrorCode::invalid_argument,
          "size 128x64, but the encoder was created for 96x64");
  refused({.multipass = Multipass::full_resolution}, ErrorCode::unsupported,
          "only NVENC encodes each picture in two passes");
  refused({.bit_rate = -5}, ErrorCode::invalid_argument, "-5, expected 0 (no change) or more");
  refused({.bit_rate = 10}, ErrorCode::invalid_argument, "bit_rate 10, expected 1000 to");
  refused({.max_bit_rate = 100'000}, ErrorCode::invalid_argument,
          "max_bit_rate 100000, expected bit_rate 200000 or more");
  refused({.vbv_initial = 100}, ErrorCode::invalid_argument, "vbv_initial 100, expected at most the 0 bits");
  refused({.rate = {-1, 1}}, ErrorCode::invalid_argument, "rate -1/1");
  EXPECT_TRUE(encoder->send(nullptr));
  LANNER_EXPECT_ERROR(encoder->reconfigure({.bit_rate = 1'000'000}), ErrorCode::invalid_argument,
                      "after the end");
}

} // namespace lanner
