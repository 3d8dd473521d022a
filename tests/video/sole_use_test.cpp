// Objects that are called while another call of them is under way: by a second thread, or out of a callback.

#include <lanner/encoder.h>
#include <lanner/log.h>
#include <lanner/muxer.h>
#include <lanner/video_reader.h>
#include <lanner/video_writer.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <string>
#include <thread>

#include "expect_error.h"
#include "temporary_folder.h"
#include "video/clips.h"

namespace lanner {
namespace {

/// Calls `action` once, on a thread of its own, from inside another call; keeps what it threw.
class Intruder {
public:
  explicit Intruder(std::function<void()> action) : action_(std::move(action)) {}

  void intrude() {
    if (!armed_.exchange(false)) return;
    std::thread([this] {
      try {
        action_();
        said_ = "nothing: it was let in";
      } catch (const Error& error) {
        said_ = error.message();
        refused_ = error.code() == ErrorCode::invalid_argument;
      }
    }).join();
  }
  void arm() { armed_ = true; }
  void expect_refused(const char* noun) const {
    EXPECT_TRUE(refused_) << noun << ": " << said_;
    EXPECT_TRUE(said_.starts_with(std::string(noun) + " is busy with another call")) << said_;
  }

private:
  std::function<void()> action_;
  std::atomic<bool> armed_{false}, refused_{false};
  std::string said_ = "nothing: it was not asked";
};

/// While it lives, FFmpeg's messages let the intruder in: they come out of the calls that cause them.
class MessagesLetIn {
public:
  explicit MessagesLetIn(Intruder& intruder) {
    set_log_callback([&intruder](LogLevel, std::string_view) { intruder.intrude(); });
    intruder.arm();
  }
  ~MessagesLetIn() { set_log_callback({}); }
};

class SoleUseOf : public ::testing::Test {
protected:
  void SetUp() override { LANNER_NEEDS_FFMPEG(); }

  static EncoderOptions h264() {
    EncoderOptions options;
    options.codec = "libx264";
    options.width = 96;
    options.height = 64;
    options.threads = 1;
    return options;
  }
  /// The bytes of a clip, whose every read lets `intruder` in. They are more than what is read at once.
  SourcePtr watched(Intruder*& intruder) {
    EncoderOptions options;
    options.codec = "ffv1";
    options.width = 320;
    options.height = 240;
    options.b_frames = 0;
    const std::string bytes = test::bytes_of(test::make_clip(folder_ / "clip.mkv", 20, options));
    const auto size = static_cast<std::int64_t>(bytes.size());
    return open_callback(
        [bytes, &intruder](std::uint64_t offset, std::span<std::byte> into) {
          if (intruder) intruder->intrude();
          const std::size_t count = std::min<std::size_t>(into.size(), bytes.size() - offset);
          std::memcpy(into.data(), bytes.data() + offset, count);
          return count;
        },
        size, true);
  }

  TemporaryFolder folder_;
};

TEST_F(SoleUseOf, Demuxer) {
  Intruder* intruder = nullptr;
  const auto demuxer = open_demuxer(watched(intruder));
  Intruder second([&] { static_cast<void>(demuxer->next()); });
  intruder = &second;
  second.arm();
  int packets = 0;
  while (demuxer->next()) ++packets;
  second.expect_refused("Demuxer");
  EXPECT_EQ(packets, 20);
}

TEST_F(SoleUseOf, VideoReader) {
  Intruder* intruder = nullptr;
  VideoReader reader(watched(intruder));
  const std::function<void()> calls[] = {
      [&] { static_cast<void>(reader.next()); },      [&] { static_cast<void>(reader.size()); },
      [&] { static_cast<void>(reader.at(0)); },       [&] { static_cast<void>(reader.index()); },
      [&] { static_cast<void>(reader.index_at(0)); }, [&] { reader.rewind(); },
  };
  for (const auto& call : calls) {
    Intruder second(call);
    intruder = &second;
    second.arm();
    EXPECT_EQ(reader.at(17).index, 17);
    EXPECT_EQ(reader.at(0).index, 0);
    second.expect_refused("VideoReader");
  }
}

TEST_F(SoleUseOf, ParallelDecoder) {
  Intruder* intruder = nullptr;
  VideoReaderOptions options;
  options.decoders = 2;
  ParallelDecoder decoder(watched(intruder), options);
  Intruder second([&] { static_cast<void>(decoder.next()); });
  intruder = &second;
  second.arm();
  std::int64_t frames = 0;
  while (decoder.next()) ++frames;
  EXPECT_EQ(frames, 20);
  second.expect_refused("ParallelDecoder");
}

TEST_F(SoleUseOf, Decoder) {
  const auto demuxer = open_demuxer(open_path(test::make_clip(folder_ / "clip.264", 2)));
  DecoderOptions options;
  options.threads = 1;
  const auto decoder = create_decoder(demuxer->streams()[0], options);
  Intruder second([&] { static_cast<void>(decoder->receive()); });
  const MessagesLetIn messages(second);
  Packet packet;
  const std::vector<std::byte> noise(100, std::byte{0x41}); // No start code: the decoder says so.
  packet.bytes = noise;
  static_cast<void>(decoder->send(&packet));
  second.expect_refused("Decoder");
}

TEST_F(SoleUseOf, Encoder) {
  EncoderOptions options = h264();
  options.tuning = Tuning::ultra_low_latency;
  options.rate_control = RateControl::cbr;
  options.bit_rate = options.vbv_buffer_size = 2000;
  options.qp_max = QpByType{10, 10, 10};
  const auto encoder = create_encoder(options);
  const Image picture = test::pattern(PixelFormat::yuv420p, 96, 64, 0);
  Intruder second([&] { static_cast<void>(encoder->receive()); });
  const MessagesLetIn messages(second);
  ASSERT_TRUE(encoder->send(&picture, 5)); // More than the buffer holds: x264 says so.
  second.expect_refused("Encoder");
}

TEST_F(SoleUseOf, Muxer) {
  const auto muxer = create_muxer((folder_ / "a.mp4").string());
  EncoderOptions options = h264();
  options.global_header = muxer->wants_global_header();
  const auto encoder = create_encoder(options);
  muxer->add_stream(encoder->stream());
  const std::vector<std::byte> bytes(100, std::byte{1});
  Packet packet;
  packet.bytes = bytes;
  packet.pts = packet.dts = 5;
  muxer->write(packet);
  Intruder second([&] { muxer->finish(); });
  const MessagesLetIn messages(second);
  packet.dts = packet.pts = 4; // Earlier than the one before: FFmpeg says so.
  LANNER_EXPECT_ERROR(muxer->write(packet), ErrorCode::invalid_argument, "cannot write a packet");
  second.expect_refused("Muxer");
}

TEST_F(SoleUseOf, VideoWriter) {
  EncoderOptions options = h264();
  options.width = options.height = 0; // The first picture opens the encoder, which says something.
  const Image picture = test::pattern(PixelFormat::yuv420p, 96, 64, 0);
  for (const bool finishes : {false, true}) {
    VideoWriter writer((folder_ / "a.mp4").string(), options);
    Intruder second([&] { finishes ? writer.finish() : writer.write(picture); });
    {
      const MessagesLetIn messages(second);
      writer.write(picture);
    }
    second.expect_refused("VideoWriter");
    writer.write(picture);
    writer.finish();
    EXPECT_EQ(VideoReader(open_path(folder_ / "a.mp4")).size(), 2);
  }
}

TEST_F(SoleUseOf, AWriterOfFourThreadsKeepsWhatItTook) {
  VideoWriter writer((folder_ / "a.mkv").string(), h264());
  const Image picture = test::pattern(PixelFormat::yuv420p, 96, 64, 0);
  std::atomic<int> taken = 0, refused = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 100; ++k) {
        try {
          writer.write(picture);
          ++taken;
        } catch (const Error& error) {
          EXPECT_TRUE(error.message().starts_with("VideoWriter is busy")) << error.message();
          ++refused;
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  writer.finish();
  EXPECT_EQ(taken + refused, 400);
  EXPECT_EQ(VideoReader(open_path(folder_ / "a.mkv")).size(), taken);
}

} // namespace
} // namespace lanner
