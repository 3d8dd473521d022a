// The decoder of GPUs on the fake driver and the fake libnvcuvid: frames, times, sessions, failures.

#include <algorithm>
#include <thread>

#include <gtest/gtest.h>

#include "device/cuda/gpu.h"
#include "expect_error.h"
#include "fake_driver/fake_cuda.h"
#include "fake_libraries/nvdec_clip.h"
#include "temporary_folder.h"
#include "video/clips.h"
#include "video/nvdec/library.h"
#include "video/nvdec/session.h"

namespace lanner {
namespace {

using fake::Picture;
using test::decode;
using test::expect_picture;
using test::fake_decoder;
using test::fake_gpu;
using test::sequence;
using test::stream_of;

constexpr int out_of_memory = 2, not_supported = 801;

std::size_t count(std::string_view log, std::string_view call) {
  std::size_t found = 0;
  for (std::size_t at = log.find(call); at != std::string_view::npos; at = log.find(call, at + 1)) ++found;
  return found;
}

class FakeNvdec : public testing::Test {
protected:
  void SetUp() override { forget_sessions(); }
  void TearDown() override {
    fake_cuda_fail(0, 0);
    fake_nvcuvid_fail(0, 0);
    fake_nvcuvid_refuse(-1);
    fake_cuda_limit(SIZE_MAX);
    EXPECT_EQ(fake_nvcuvid_mapped(), 0);
    EXPECT_EQ(fake_nvcuvid_parsers(), 0);
    forget_sessions();
    EXPECT_EQ(fake_nvcuvid_sessions(), 0);
    EXPECT_EQ(fake_cuda_contexts(), 0);
  }
  static void forget_sessions() {
    const cuda::Gpu& gpu = cuda::Gpu::get(fake_gpu);
    const cuda::Current current(gpu);
    nvdec::SessionCache::of(gpu)->clear();
  }
};

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
  pictures[4].second_field = true; // Of packet 3.
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
    Packet packet = test::packet_of(pictures[static_cast<std::size_t>(i)], i);
    packet.discard = i < 2;
    ASSERT_TRUE(decoder->send(&packet));
    take();
  }
  ASSERT_TRUE(decoder->send(nullptr));
  take();
  EXPECT_EQ(times, (std::vector<std::int64_t>{2, 3}));
}

TEST_F(FakeNvdec, calls_come_in_order) {
  fake_nvcuvid_forget();
  const Picture like;
  auto decoder = fake_decoder(like);
  decode(*decoder, sequence(2, like));
  EXPECT_EQ(std::string(fake_nvcuvid_log()),
            "cuvidGetDecoderCaps\ncuvidCreateVideoParser\ncuvidParseVideoData\ncuvidParseVideoData\n"
            "cuvidGetDecoderCaps\ncuvidCreateDecoder\ncuvidDecodePicture\ncuvidParseVideoData\n"
            "cuvidDecodePicture\ncuvidMapVideoFrame64\ncuvidMapVideoFrame64\ncuvidUnmapVideoFrame64\n"
            "cuvidUnmapVideoFrame64\n");
}

TEST_F(FakeNvdec, nothing_is_allocated_in_the_steady_state) {
  const Picture like;
  auto decoder = fake_decoder(like);
  auto pictures = sequence(60, like);
  const auto pass = [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      const Packet packet = test::packet_of(pictures[static_cast<std::size_t>(i)], i);
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
  EXPECT_EQ(count(log, "cuEventSynchronize"), 40u); // Each frame is complete when it is given.
}

TEST_F(FakeNvdec, a_callers_stream_orders_everything) {
  const cuda::Gpu& gpu = cuda::Gpu::get(fake_gpu);
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
  int callers = 0; // Any address is a context to the fake.
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
  Picture cropped = like; // The same coded size: the same session, and no wrong crop.
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
  // The other way round the first session is too small.
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
    const Packet late = test::packet_of(pictures[0], 0);
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
    const Packet packet = test::packet_of(pictures[static_cast<std::size_t>(i)], i);
    ASSERT_TRUE(decoder->send(&packet));
    const auto frame = decoder->receive();
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->pts, i);
    EXPECT_FALSE(decoder->receive());
  }
}

TEST_F(FakeNvdec, damage_is_told_or_raised) {
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

TEST_F(FakeNvdec, fields_colour_and_rotation_are_told) {
  Picture like;
  like.interlaced = true, like.matrix = 1, like.full_range = true;
  StreamInfo stream = stream_of(like);
  stream.rotation = 90;
  stream.sample_aspect = {4, 3};
  stream.color.siting = ChromaSiting::left;
  DecoderOptions options;
  options.device = fake_gpu;
  const auto frames = decode(*create_decoder(stream, options), sequence(2, like));
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_TRUE(frames[0].interlaced);
  EXPECT_TRUE(frames[0].top_field_first);
  EXPECT_EQ(frames[0].rotation, 90);
  EXPECT_EQ(frames[0].sample_aspect, (Rational{4, 3}));
  const ColorInfo want{ColorMatrix::bt709, ColorRange::full, ChromaSiting::left, 1, 1};
  EXPECT_EQ(frames[0].image.color, want);
}

TEST_F(FakeNvdec, rgb_is_planar_rgb) {
  Picture like;
  like.chroma = 3, like.matrix = 0;
  auto pictures = sequence(2, like);
  StreamInfo stream = stream_of(like);
  stream.color.matrix = ColorMatrix::rgb;
  DecoderOptions options;
  options.device = fake_gpu;
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

TEST_F(FakeNvdec, what_the_gpu_does_not_decode_is_refused_by_name) {
  Picture like;
  LANNER_EXPECT_ERROR(fake_decoder(like, {}, "av1"), ErrorCode::unsupported,
                      "cuda:0: Fake GPU does not decode av1 4:2:0 8 bit");
  LANNER_EXPECT_ERROR(fake_decoder(like, {}, "prores"), ErrorCode::unsupported, "does not decode prores");
  like.width = 5000;
  LANNER_EXPECT_ERROR(fake_decoder(like), ErrorCode::unsupported,
                      "decodes vp9 4:2:0 8 bit from 48x16 to 4096x4096");
  DecoderOptions options;
  options.output = Device{DeviceKind::cuda, 1};
  LANNER_EXPECT_ERROR(fake_decoder(Picture(), options), ErrorCode::unsupported, "frames on cuda:1");
}

TEST_F(FakeNvdec, auto_takes_the_gpu_and_says_so) {
  const Picture like;
  DecoderOptions options;
  options.device = std::nullopt;
  const auto decoder = create_decoder(stream_of(like), options);
  EXPECT_EQ(decoder->reason(), "auto: cuda:0 decodes vp9 4:2:0 8 bit");
  EXPECT_EQ(decoder->device(), fake_gpu);
  EXPECT_EQ(fake_decoder(like)->reason(), "asked for");
}

TEST_F(FakeNvdec, auto_takes_the_cpu_and_says_why) {
  LANNER_NEEDS_FFMPEG();
  DecoderOptions options;
  options.device = std::nullopt;
  const StreamInfo av1 = stream_of(Picture(), "av1");
  try {
    const auto decoder = create_decoder(av1, options);
    EXPECT_EQ(decoder->reason(), "auto: Fake GPU does not decode av1 4:2:0 8 bit");
    EXPECT_TRUE(decoder->device().is_host());
  } catch (const Error& error) { // This FFmpeg has no AV1.
    EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.message();
  }
  StreamInfo groups = stream_of(Picture(), "h264"); // Slice groups by its picture parameter set.
  for (const int value : {0, 0, 1, 0x67, 66, 0, 30, 0x80, 0, 0, 1, 0x68, 0xc4})
    groups.extradata.push_back(static_cast<std::byte>(value));
  EXPECT_EQ(create_decoder(groups, options)->reason(),
            "auto: Fake GPU does not decode h264 with flexible macroblock order");
  options.device = Device{};
  EXPECT_EQ(create_decoder(stream_of(Picture()), options)->reason(), "asked for");
}

TEST_F(FakeNvdec, frames_of_the_cpu_are_copied_to_the_gpu) {
  LANNER_NEEDS_FFMPEG();
  const TemporaryFolder folder;
  EncoderOptions encoder;
  encoder.codec = "mpeg4";
  const auto clip = test::make_clip(folder.path() / "clip.mkv", 6, encoder);
  VideoReaderOptions options;
  VideoReader want(open_path(clip), options);
  options.decoder.output = fake_gpu;
  VideoReader got(open_path(clip), options);
  EXPECT_NE(got.decoder_description().find(", frames on cuda:0"), std::string::npos);
  int count = 0;
  for (; const auto frame = want.next(); ++count) {
    const auto there = got.next();
    ASSERT_TRUE(there);
    EXPECT_EQ(there->image.device, fake_gpu);
    EXPECT_EQ(there->pts, frame->pts);
    Image back = Image::allocate(there->image.format, there->image.width, there->image.height);
    copy(there->image, back);
    EXPECT_EQ(test::frame_checksum(back), test::frame_checksum(frame->image));
  }
  EXPECT_EQ(count, 6);
}

TEST_F(FakeNvdec, a_sequence_that_is_refused_can_be_left_by_reset) {
  const Picture like;
  auto decoder = fake_decoder(like);
  Picture deep = like;
  deep.depth = 14;
  auto pictures = sequence(4, like);
  pictures.push_back(sequence(1, deep)[0]);
  pictures.push_back(sequence(2, deep)[1]);
  LANNER_EXPECT_ERROR(decode(*decoder, pictures), ErrorCode::unsupported, "does not decode vp9 4:2:0 14 bit");
  decoder->reset(stream_of(like));
  EXPECT_EQ(decode(*decoder, sequence(4, like)).size(), 4u);
  Picture huge = like;
  huge.width = 8000;
  LANNER_EXPECT_ERROR(decoder->reset(stream_of(huge)), ErrorCode::unsupported, "to 4096x4096");
  decoder->reset(stream_of(like));
  EXPECT_EQ(decode(*decoder, sequence(4, like)).size(), 4u);
}

TEST_F(FakeNvdec, tells_its_capabilities) {
  const auto table = decoder_capabilities(fake_gpu);
  const auto row = [&](std::string_view codec, std::string_view chroma, int depth) {
    const auto found = std::ranges::find_if(table, [&](const DecoderCapability& can) {
      return can.codec == codec && can.chroma == chroma && can.bit_depth == depth;
    });
    return found == table.end() ? DecoderCapability{} : *found;
  };
  EXPECT_TRUE(row("h264", "4:2:0", 8).supported);
  EXPECT_EQ(row("h264", "4:2:0", 8).engines, 7);
  EXPECT_EQ(row("hevc", "4:4:4", 10).max_width, 4096);
  EXPECT_FALSE(row("av1", "4:2:0", 8).supported);
  EXPECT_FALSE(row("hevc", "4:2:2", 10).supported);
}

TEST_F(FakeNvdec, a_missing_library_says_what_was_looked_for) {
  const char* const names[] = {"liblanner-no-such-thing.so.1"};
  EXPECT_NE(nvdec::open_library(names).reason.find("liblanner-no-such-thing"), std::string::npos);
  const char* const other[] = {"libcudnn.so.9"};
  EXPECT_NE(nvdec::open_library(other).reason.find("it has no cuvidGetDecoderCaps"), std::string::npos);
}

/// A clip that uses most calls: two sizes, a session from the cache.
void everything(bool to_host) {
  Picture large, small;
  large.width = 160, large.held = 1;
  small.width = 96;
  DecoderOptions options;
  if (to_host) options.output = Device{};
  auto decoder = fake_decoder(large, options, "h264");
  auto pictures = sequence(7, large);
  for (const Picture& picture : sequence(7, small)) pictures.push_back(picture);
  const auto frames = decode(*decoder, pictures);
  EXPECT_EQ(frames.size(), 14u);
  for (const Frame& frame : frames) expect_picture(frame, pictures[static_cast<std::size_t>(frame.pts)]);
}

using Fail = void (*)(std::size_t number, int status);
using Calls = std::size_t (*)();

class FailingCall : public FakeNvdec, public testing::WithParamInterface<std::tuple<bool, int, bool>> {};

TEST_P(FailingCall, is_one_error_and_nothing_leaks) {
  const auto [in_driver, status, to_host] = GetParam();
  const Fail fail_call = in_driver ? fake_cuda_fail : fake_nvcuvid_fail;
  const Calls calls_so_far = in_driver ? fake_cuda_calls : fake_nvcuvid_calls;
  everything(to_host);
  forget_sessions();
  const std::size_t memory = fake_cuda_memory(), objects = fake_cuda_objects(), before = calls_so_far();
  everything(to_host);
  const std::size_t calls = calls_so_far() - before;
  ASSERT_GT(calls, 20u);
  std::size_t unseen = 0;
  for (std::size_t number = 1; number <= calls; ++number) {
    forget_sessions();
    fake_nvcuvid_forget();
    fail_call(number, status);
    try {
      everything(to_host);
      ++unseen;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), status == out_of_memory ? ErrorCode::out_of_memory : ErrorCode::device)
          << error.message();
    }
    fail_call(0, 0);
    everything(to_host);
    forget_sessions();
    EXPECT_EQ(fake_cuda_memory(), memory) << "call " << number << " of " << calls;
    EXPECT_EQ(fake_cuda_objects(), objects) << "call " << number;
    EXPECT_EQ(fake_nvcuvid_sessions(), 0) << "call " << number;
    EXPECT_EQ(fake_nvcuvid_parsers(), 0) << "call " << number;
    EXPECT_EQ(fake_nvcuvid_mapped(), 0) << "call " << number;
  }
  EXPECT_EQ(unseen, 0u);
}

INSTANTIATE_TEST_SUITE_P(calls, FailingCall,
                         testing::Combine(testing::Bool(), testing::Values(out_of_memory, not_supported),
                                          testing::Bool()));

TEST_F(FakeNvdec, memory_that_sessions_hold_is_given_up_for_a_new_one) {
  Picture like;
  decode(*fake_decoder(like), sequence(3, like));
  EXPECT_EQ(fake_nvcuvid_sessions(), 1);
  Picture other;
  other.width = 256;
  auto decoder = fake_decoder(other);
  fake_nvcuvid_forget();
  // Parser, two pieces, capabilities: the fifth call makes the session.
  fake_nvcuvid_fail(5, out_of_memory);
  EXPECT_EQ(decode(*decoder, sequence(3, other)).size(), 3u);
  EXPECT_EQ(count(fake_nvcuvid_log(), "cuvidCreateDecoder"), 2u);
  EXPECT_EQ(fake_nvcuvid_sessions(), 1);
}

} // namespace
} // namespace lanner
