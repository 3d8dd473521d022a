// The decoder of GPUs on the fake driver and the fake libnvcuvid: frames, times, sessions.

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "expect_error.h"
#include "fake_libraries/nvdec_clip.h"

namespace lanner::test {
namespace {

using fake::Picture;

TEST_F(FakeNvdec, gives_every_picture_as_it_is) {
  struct Case {
    std::uint8_t chroma, depth;
    PixelFormat format;
  };
  const Case cases[] = {{1, 8, PixelFormat::nv12},          {1, 10, PixelFormat::p010},
                        {1, 12, PixelFormat::p012},         {3, 8, PixelFormat::yuv444p},
                        {3, 10, PixelFormat::yuv444p10msb}, {3, 12, PixelFormat::yuv444p12msb}};
  for (const auto& [chroma, depth, format] : cases)
    for (const std::uint8_t crop : std::initializer_list<std::uint8_t>{0, 2, 6})
      for (const int odd : {0, 1})
        for (const bool to_host : {false, true}) {
          SCOPED_TRACE(
              fmt::format("chroma {} depth {} crop {} odd {} host {}", chroma, depth, crop, odd, to_host));
          Picture like;
          like.chroma = chroma, like.depth = depth, like.crop = crop;
          like.width = 80 - odd, like.height = 50 + odd;
          const auto pictures = sequence(3, like);
          DecoderOptions options;
          if (to_host) options.output = Device{};
          const auto frames = decode(*fake_decoder(like, options), pictures);
          ASSERT_EQ(frames.size(), pictures.size());
          for (std::size_t i = 0; i < frames.size(); ++i) {
            EXPECT_EQ(frames[i].image.format, format);
            EXPECT_EQ(frames[i].image.device.is_host(), to_host);
            expect_picture(frames[i], pictures[i]);
          }
        }
}

TEST_F(FakeNvdec, frames_come_in_presentation_order_with_their_packets_times) {
  Picture like;
  like.held = 2;
  const auto pictures = sequence(21, like);
  const auto frames = decode(*fake_decoder(like, {}, "hevc"), pictures);
  ASSERT_EQ(frames.size(), pictures.size());
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const auto packet = static_cast<std::size_t>(frames[i].pts);
    ASSERT_LT(packet, pictures.size());
    EXPECT_EQ(pictures[packet].order, i);
    EXPECT_EQ(frames[i].duration, 1);
    EXPECT_EQ(frames[i].key, packet == 0);
    EXPECT_EQ(frames[i].time_base, (Rational{1, 25}));
    expect_picture(frames[i], pictures[packet]);
  }
}

TEST_F(FakeNvdec, packets_without_a_picture_of_their_own) {
  const Picture like;
  auto pictures = sequence(8, like);
  pictures[2].hidden = true;
  pictures[4].second_field = true; // Belongs to packet 3.
  pictures[4].seed = pictures[3].seed;
  pictures[6].pair = true; // Two pictures: the second has no packet, and no time.
  pictures[7].order = 9;
  for (const char* codec : {"vp9", "h264", "hevc"}) {
    auto decoder = fake_decoder(like, {}, codec);
    std::vector<std::int64_t> times;
    for (const Frame& frame : decode(*decoder, pictures)) times.push_back(frame.pts);
    EXPECT_EQ(times, (std::vector<std::int64_t>{0, 1, 3, 5, 6, no_pts, 7})) << codec;
  }
}

TEST_F(FakeNvdec, discarded_packets_are_decoded_and_not_shown) {
  const Picture like;
  const auto pictures = sequence(4, like);
  auto decoder = fake_decoder(like);
  std::vector<std::int64_t> times;
  const auto take = [&] {
    while (auto frame = decoder->receive()) times.push_back(frame->pts);
  };
  for (std::int64_t i = 0; i < 4; ++i) {
    Packet packet = packet_of(pictures[static_cast<std::size_t>(i)], i);
    packet.discard = i < 2;
    ASSERT_TRUE(decoder->send(&packet));
    take();
  }
  ASSERT_TRUE(decoder->send(nullptr));
  take();
  EXPECT_EQ(times, (std::vector<std::int64_t>{2, 3}));
}

TEST_F(FakeNvdec, sizes_that_are_not_multiples_of_a_macroblock) {
  Picture like;
  like.width = 121, like.height = 79;
  const auto pictures = sequence(3, like);
  const auto frames = decode(*fake_decoder(like, {}, "mpeg2video"), pictures);
  ASSERT_EQ(frames.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) expect_picture(frames[i], pictures[i]);
}

TEST_F(FakeNvdec, packets_before_the_first_key_frame_are_not_decoded) {
  const Picture like;
  auto pictures = sequence(9, like);
  pictures[0].key = false;
  pictures[3].key = pictures[7].key = true;
  StreamInfo stream = stream_of(like, "h264");
  for (const int value : {0, 0, 1, 0x67, 66, 0, 30, 0x80})
    stream.extradata.push_back(static_cast<std::byte>(value));
  DecoderOptions options;
  options.device = gpu_device;
  auto decoder = create_decoder(stream, options);
  fake_nvcuvid_forget();
  const long headers = fake_nvcuvid_headers();
  const auto frames = decode(*decoder, pictures);
  ASSERT_EQ(frames.size(), 6u);
  EXPECT_EQ(frames[0].pts, 3);
  EXPECT_EQ(fake_nvcuvid_headers(), headers + 1); // With the first packet that is decoded.
  EXPECT_EQ(count(fake_nvcuvid_log(), "cuvidDecodePicture"), 6u);
  decoder->flush();
  EXPECT_EQ(decode(*decoder, {pictures[4], pictures[7], pictures[8]}).size(), 2u);
}

TEST_F(FakeNvdec, messages_come_with_the_picture_of_their_packet) {
  Picture like;
  like.held = 2;
  DecoderOptions options;
  options.sei = true;
  auto decoder = fake_decoder(like, options, "h264");
  const auto pictures = sequence(9, like);
  std::vector<Frame> frames;
  const auto take = [&] {
    while (auto frame = decoder->receive()) frames.push_back(std::move(*frame));
  };
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    Packet packet = packet_of(pictures[i], static_cast<std::int64_t>(i));
    std::vector<std::byte> bytes(packet.bytes.begin(), packet.bytes.end());
    // A unit of type 6 (SEI) with one message of type 5 and one byte, the packet's number.
    for (const int value : {0, 0, 1, 6, 5, 1, 0x40 + static_cast<int>(i), 0x80})
      bytes.push_back(static_cast<std::byte>(value));
    packet.bytes = bytes;
    ASSERT_TRUE(decoder->send(&packet));
    take();
  }
  ASSERT_TRUE(decoder->send(nullptr));
  take();
  ASSERT_EQ(frames.size(), pictures.size());
  for (const Frame& frame : frames) {
    ASSERT_EQ(frame.sei.size(), 1u);
    EXPECT_EQ(frame.sei[0].type, 5);
    EXPECT_EQ(frame.sei[0].bytes, std::vector<std::byte>(1, static_cast<std::byte>(0x40 + frame.pts)));
  }
}

TEST_F(FakeNvdec, calls_come_in_order) {
  const Picture like;
  auto decoder = fake_decoder(like); // Queries capabilities if that was not done before.
  fake_nvcuvid_forget();
  decode(*decoder, sequence(2, like));
  EXPECT_EQ(std::string(fake_nvcuvid_log()),
            "cuvidCreateVideoParser\ncuvidParseVideoData\ncuvidParseVideoData\n"
            "cuvidCreateDecoder\ncuvidDecodePicture\ncuvidParseVideoData\n"
            "cuvidDecodePicture\ncuvidMapVideoFrame64\ncuvidMapVideoFrame64\ncuvidUnmapVideoFrame64\n"
            "cuvidUnmapVideoFrame64\n");
}

TEST_F(FakeNvdec, nothing_is_allocated_in_the_steady_state) {
  const Picture like;
  auto decoder = fake_decoder(like);
  auto pictures = sequence(60, like);
  const auto pass = [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      const Packet packet = packet_of(pictures[static_cast<std::size_t>(i)], i);
      ASSERT_TRUE(decoder->send(&packet));
      while (decoder->receive()) {
      }
    }
  };
  pass(0, 20);
  fake_cuda_forget();
  fake_nvcuvid_forget();
  pass(20, 60);
  const std::string log = fake_cuda_log();
  // The fake allocates each surface that it maps.
  EXPECT_EQ(count(log, "cuMemAlloc\n"), count(fake_nvcuvid_log(), "cuvidMapVideoFrame64"));
  EXPECT_EQ(count(log, "cuEventCreate"), 0u);
  EXPECT_EQ(count(log, "cuStreamSynchronize"), 0u);
  EXPECT_EQ(count(log, "cuEventSynchronize"), 40u); // Each frame is complete when it is returned.
}

TEST_F(FakeNvdec, a_callers_stream_orders_everything) {
  const cuda::Gpu& gpu = cuda::Gpu::get(gpu_device);
  const cuda::OwnedStream stream(gpu);
  const std::size_t memory = fake_cuda_memory();
  {
    const Picture like;
    DecoderOptions options;
    options.stream = stream.stream();
    auto decoder = fake_decoder(like, options);
    fake_cuda_forget();
    const auto pictures = sequence(10, like);
    const auto frames = decode(*decoder, pictures);
    EXPECT_EQ(count(fake_cuda_log(), "cuMemAllocAsync"), 10u);
    ASSERT_EQ(frames.size(), 10u);
    for (std::size_t i = 0; i < frames.size(); ++i) {
      EXPECT_EQ(frames[i].stream.handle, stream.handle());
      expect_picture(frames[i], pictures[i]);
    }
  }
  forget_sessions();
  EXPECT_EQ(fake_cuda_memory(), memory);
}

TEST_F(FakeNvdec, a_callers_context_is_used_and_its_sessions_end_with_the_decoder) {
  int callers = 0; // Any address is a valid context for the fake.
  const Picture like;
  DecoderOptions options;
  options.context = &callers;
  {
    auto decoder = fake_decoder(like, options);
    EXPECT_EQ(decode(*decoder, sequence(5, like)).size(), 5u);
    const long made = fake_nvcuvid_sessions_made();
    decoder->reset(stream_of(like));
    EXPECT_EQ(decode(*decoder, sequence(5, like)).size(), 5u);
    EXPECT_EQ(fake_nvcuvid_sessions_made(), made);
  }
  EXPECT_EQ(fake_nvcuvid_sessions(), 0);
}

TEST_F(FakeNvdec, frames_outlive_the_decoder) {
  const std::size_t memory = fake_cuda_memory();
  Picture like;
  like.held = 2;
  const auto pictures = sequence(200, like);
  auto decoder = fake_decoder(like, {}, "h264");
  auto frames = decode(*decoder, pictures);
  decoder.reset();
  forget_sessions();
  ASSERT_EQ(frames.size(), 200u);
  for (const Frame& frame : frames) expect_picture(frame, pictures[static_cast<std::size_t>(frame.pts)]);
  EXPECT_EQ(fake_cuda_memory(), memory + 200);
  std::thread([&] { frames.clear(); }).join();
  EXPECT_EQ(fake_cuda_memory(), memory);
}

TEST_F(FakeNvdec, sessions_are_used_again) {
  const Picture like;
  const long made = fake_nvcuvid_sessions_made();
  for (int round = 0; round < 3; ++round)
    EXPECT_EQ(decode(*fake_decoder(like), sequence(5, like)).size(), 5u);
  EXPECT_EQ(fake_nvcuvid_sessions_made(), made + 1);
  Picture cropped = like; // The same coded size: the same session, but not the old crop.
  cropped.width -= 4, cropped.height -= 4, cropped.crop = 4;
  const auto pictures = sequence(5, cropped);
  const auto frames = decode(*fake_decoder(cropped), pictures);
  ASSERT_EQ(frames.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) expect_picture(frames[i], pictures[i]);
  EXPECT_EQ(fake_nvcuvid_sessions_made(), made + 1);
  Picture other = like;
  other.depth = 10;
  decode(*fake_decoder(other), sequence(5, other));
  EXPECT_EQ(fake_nvcuvid_sessions_made(), made + 2);
}

TEST(FakeNvdecDeathTest, waiting_sessions_end_before_the_process) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        std::atexit([] { fmt::print(stderr, "left: {}", fake_nvcuvid_sessions()); });
        const Picture like;
        const bool whole = decode(*fake_decoder(like), sequence(5, like)).size() == 5;
        std::exit(whole && fake_nvcuvid_sessions() == 1 ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "left: 0");
}

TEST_F(FakeNvdec, smaller_pictures_reconfigure_and_larger_ones_do_not) {
  Picture large, small;
  large.width = 320, large.height = 240;
  small.width = 96, small.height = 64;
  std::vector<Picture> pictures;
  for (const Picture& like : {large, small, large})
    for (const Picture& picture : sequence(6, like)) pictures.push_back(picture);
  const long made = fake_nvcuvid_sessions_made();
  const auto frames = decode(*fake_decoder(large), pictures);
  ASSERT_EQ(frames.size(), pictures.size());
  for (std::size_t i = 0; i < frames.size(); ++i) {
    EXPECT_EQ(frames[i].pts, static_cast<std::int64_t>(i));
    expect_picture(frames[i], pictures[i]);
  }
  EXPECT_EQ(fake_nvcuvid_sessions_made(), made + 1);
  // In the opposite order the first session is too small.
  const auto grown = sequence(6, small);
  forget_sessions();
  auto decoder = fake_decoder(small);
  const std::size_t before = decode(*decoder, grown, false).size();
  EXPECT_EQ(before + decode(*decoder, sequence(6, large), true, 6).size(), 12u);
  EXPECT_EQ(fake_nvcuvid_sessions_made(), made + 3);
}

TEST_F(FakeNvdec, depth_may_change_inside_a_stream) {
  Picture first, second;
  second.depth = 10, second.chroma = 3;
  auto pictures = sequence(4, first);
  for (const Picture& picture : sequence(4, second)) pictures.push_back(picture);
  const auto frames = decode(*fake_decoder(first), pictures);
  ASSERT_EQ(frames.size(), 8u);
  for (std::size_t i = 0; i < 8; ++i) expect_picture(frames[i], pictures[i]);
  EXPECT_EQ(frames[7].image.format, PixelFormat::yuv444p10msb);
}

TEST_F(FakeNvdec, flush_and_reset_leave_no_trace) {
  Picture like;
  like.held = 2;
  auto decoder = fake_decoder(like);
  const auto pictures = sequence(11, like);
  for (int round = 0; round < 3; ++round) {
    decode(*decoder, pictures, false);
    decoder->flush();
    EXPECT_FALSE(decoder->receive());
    EXPECT_FALSE(decoder->finished());
    const auto frames = decode(*decoder, pictures, true, 100);
    ASSERT_EQ(frames.size(), pictures.size());
    EXPECT_EQ(frames[0].pts, 100);
    EXPECT_TRUE(decoder->finished());
    const Packet late = packet_of(pictures[0], 0);
    LANNER_EXPECT_ERROR(decoder->send(&late), ErrorCode::invalid_argument, "flush() first");
    decoder->flush();
    EXPECT_FALSE(decoder->finished());
  }
  Picture other;
  other.width = 128, other.depth = 10;
  decoder->reset(stream_of(other, "hevc"));
  EXPECT_EQ(decoder->description(), "nvdec hevc on cuda:0");
}

TEST_F(FakeNvdec, low_latency_gives_each_picture_at_once) {
  const Picture like;
  DecoderOptions options;
  options.latency = Latency::low;
  auto decoder = fake_decoder(like, options);
  const auto pictures = sequence(5, like);
  for (std::int64_t i = 0; i < 5; ++i) {
    const Packet packet = packet_of(pictures[static_cast<std::size_t>(i)], i);
    ASSERT_TRUE(decoder->send(&packet));
    const auto frame = decoder->receive();
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->pts, i);
    EXPECT_FALSE(decoder->receive());
  }
}

TEST_F(FakeNvdec, damage_is_reported_or_raised) {
  const Picture like;
  auto pictures = sequence(5, like);
  pictures[2].damaged = true;
  const auto frames = decode(*fake_decoder(like), pictures);
  ASSERT_EQ(frames.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(frames[i].corrupt, i == 2);
  DecoderOptions options;
  options.raise_on_error = true;
  auto decoder = fake_decoder(like, options);
  LANNER_EXPECT_ERROR(decode(*decoder, pictures), ErrorCode::bad_data, "the picture at pts 2 is damaged");
  EXPECT_EQ(decode(*decoder, {}).size(), 2u); // Packets 3 and 4 were sent.
}

TEST_F(FakeNvdec, fields_colour_and_rotation_are_reported) {
  Picture like;
  like.interlaced = true, like.matrix = 1, like.full_range = true;
  StreamInfo stream = stream_of(like);
  stream.rotation = 90;
  stream.sample_aspect = {4, 3};
  stream.color.siting = ChromaSiting::left;
  DecoderOptions options;
  options.device = gpu_device;
  const auto frames = decode(*create_decoder(stream, options), sequence(2, like));
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_TRUE(frames[0].interlaced);
  EXPECT_TRUE(frames[0].top_field_first);
  EXPECT_EQ(frames[0].rotation, 90);
  EXPECT_EQ(frames[0].sample_aspect, (Rational{4, 3}));
  const ColorInfo want{ColorMatrix::bt709, ColorRange::full, ChromaSiting::left, 1, 1};
  EXPECT_EQ(frames[0].image.color, want);
}

TEST_F(FakeNvdec, guessed_colour_is_replaced_by_the_containers) {
  Picture like;
  like.matrix = 1;
  StreamInfo stream = stream_of(like, "mpeg4");
  stream.color.matrix = ColorMatrix::bt601;
  DecoderOptions options;
  options.device = gpu_device;
  EXPECT_EQ(decode(*create_decoder(stream, options), sequence(1, like)).at(0).image.color, stream.color);
  const ColorInfo vp8 = decode(*fake_decoder(like, {}, "vp8"), sequence(1, like)).at(0).image.color;
  EXPECT_EQ(vp8.matrix, ColorMatrix::bt601);
  EXPECT_EQ(vp8.range, ColorRange::limited);
}

TEST_F(FakeNvdec, rgb_is_planar_rgb) {
  Picture like;
  like.chroma = 3, like.matrix = 0;
  auto pictures = sequence(2, like);
  StreamInfo stream = stream_of(like);
  stream.color.matrix = ColorMatrix::rgb;
  DecoderOptions options;
  options.device = gpu_device;
  const auto frames = decode(*create_decoder(stream, options), pictures);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].image.format, PixelFormat::rgb_planar);
  for (std::size_t i = 0; i < 2; ++i) expect_picture(frames[i], pictures[i]);
}

TEST_F(FakeNvdec, threads_have_decoders_of_their_own) {
  std::vector<std::thread> threads;
  std::vector<std::size_t> counts(4);
  for (std::size_t t = 0; t < counts.size(); ++t)
    threads.emplace_back([&, t] {
      Picture like;
      like.seed = static_cast<std::uint8_t>(10 * t);
      like.held = t % 2;
      for (int round = 0; round < 4; ++round) {
        const auto pictures = sequence(30, like);
        const auto frames = decode(*fake_decoder(like, {}, "hevc"), pictures);
        for (const Frame& frame : frames)
          expect_picture(frame, pictures[static_cast<std::size_t>(frame.pts)]);
        counts[t] += frames.size();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::size_t n : counts) EXPECT_EQ(n, 120u);
}

} // namespace
} // namespace lanner::test
