// The encoder of GPUs on the fake libnvidia-encode: pictures in, packets out.

#include <algorithm>
#include <cstring>
#include <thread>

#include <lanner/video_reader.h>
#include <lanner/video_writer.h>

#include "device/cuda/gpu.h"
#include "expect_error.h"
#include "fake_libraries/nvenc_encoder/nvenc_pictures.h"
#include "temporary_folder.h"
#include "text_parts.h"
#include "video/clips.h"

namespace lanner::test {
namespace {

using namespace nvenc;

/// Fails the test unless both have the same samples.
void expect_same(const Image& got, const Image& wanted) {
  Image same = Image::allocate(got.format, wanted.width, wanted.height);
  same.color = got.color;
  Image source = wanted;
  source.color = got.color;
  convert_image(source, same);
  ASSERT_EQ(got.width, wanted.width);
  ASSERT_EQ(got.height, wanted.height);
  const PixelFormatInfo& facts = format_info(got.format);
  for (std::size_t p = 0; p < facts.planes; ++p)
    for (std::int32_t y = 0; y < got.planes[p].height; ++y)
      ASSERT_EQ(std::memcmp(got.planes[p].data + y * got.planes[p].pitch,
                            same.planes[p].data + y * same.planes[p].pitch,
                            static_cast<std::size_t>(got.planes[p].width) * facts.bytes_per_sample),
                0)
          << "plane " << p << " row " << y;
}

struct FormatCase {
  const char* codec;
  PixelFormat stored, given;
  bool on_gpu;
};
class NvencFormats : public FakeNvencEncoder, public testing::WithParamInterface<FormatCase> {};

TEST_P(NvencFormats, every_sample_comes_back) {
  LANNER_NEEDS_FFMPEG();
  const FormatCase& with = GetParam();
  EncoderOptions options = nvenc_options(with.codec);
  options.format = with.stored;
  const auto encoder = create_encoder(options);
  std::vector<Packet> packets;
  for (int time = 0; time < 3; ++time) {
    const Image image =
        nvenc_pattern(with.given, options.width, options.height, time, with.on_gpu ? gpu_device : Device{});
    ASSERT_TRUE(encoder->send(&image, time));
  }
  for (Packet& packet : end_encoder(*encoder)) packets.push_back(std::move(packet));
  ASSERT_EQ(packets.size(), 3u);
  const std::vector<Frame> frames = decode_stream(bytes_of(packets));
  ASSERT_EQ(frames.size(), 3u);
  for (int time = 0; time < 3; ++time)
    expect_same(frames[static_cast<std::size_t>(time)].image,
                nvenc_pattern(with.given, options.width, options.height, time));
}

INSTANTIATE_TEST_SUITE_P(
    formats, NvencFormats,
    testing::Values(FormatCase{"h264", PixelFormat::nv12, PixelFormat::nv12, false},
                    FormatCase{"h264", PixelFormat::nv12, PixelFormat::nv12, true},
                    FormatCase{"h264", PixelFormat::yuv420p, PixelFormat::yuv420p, false},
                    FormatCase{"h264", PixelFormat::yuv444p, PixelFormat::yuv444p, true},
                    FormatCase{"hevc", PixelFormat::nv12, PixelFormat::yuv420p, false},
                    FormatCase{"hevc", PixelFormat::p010, PixelFormat::p010, true},
                    FormatCase{"hevc", PixelFormat::p010, PixelFormat::yuv420p10, false},
                    FormatCase{"hevc", PixelFormat::yuv444p, PixelFormat::yuv444p, false},
                    FormatCase{"hevc", PixelFormat::yuv444p10, PixelFormat::yuv444p10msb, true},
                    FormatCase{"hevc", PixelFormat::yuv444p10, PixelFormat::yuv444p10, false}));

TEST_F(FakeNvencEncoder, rgb_becomes_what_convert_image_makes_of_it) {
  LANNER_NEEDS_FFMPEG();
  const EncoderOptions options = nvenc_options();
  const auto encoder = create_encoder(options);
  const Image rgb = nvenc_pattern(PixelFormat::rgb24, options.width, options.height, 4);
  ASSERT_TRUE(encoder->send(&rgb));
  const std::vector<Frame> frames = decode_stream(bytes_of(end_encoder(*encoder)));
  ASSERT_EQ(frames.size(), 1u);
  Image wanted = Image::allocate(PixelFormat::yuv420p, options.width, options.height);
  wanted.color = encoder->stream().color;
  convert_image(rgb, wanted);
  expect_same(frames[0].image, wanted);
}

TEST_F(FakeNvencEncoder, b_frames_come_in_the_order_of_the_stream_with_times_that_grow) {
  for (const char* codec : {"h264", "hevc"}) {
    EncoderOptions options = nvenc_options(codec);
    options.b_frames = 2;
    options.gop = 6;
    const std::vector<Packet> packets = encode_patterns(options, 11);
    EXPECT_EQ(types_of(packets), "DPBBPBDPBBP") << codec;
    EXPECT_EQ(times_of(packets), (std::vector<std::int64_t>{0, 3, 1, 2, 5, 4, 6, 9, 7, 8, 10}));
    std::int64_t last = -2;
    for (const Packet& packet : packets) {
      EXPECT_LE(packet.dts, packet.pts);
      EXPECT_GT(packet.dts, last);
      last = packet.dts;
    }
    EXPECT_EQ(packets.front().dts, -1); // One frame of reordering.
  }
}

TEST_F(FakeNvencEncoder, av1_comes_in_presentation_order) {
  EncoderOptions options = nvenc_options("av1");
  options.b_frames = 3;
  options.gop = 8;
  const std::vector<Packet> packets = encode_patterns(options, 8);
  ASSERT_EQ(packets.size(), 8u);
  for (std::int64_t i = 0; i < 8; ++i) {
    const Packet& packet = packets[static_cast<std::size_t>(i)];
    EXPECT_EQ(packet.pts, i);
    EXPECT_EQ(packet.dts, i);
    EXPECT_EQ(packet.key, i == 0);
  }
}

TEST_F(FakeNvencEncoder, packets_of_low_latency_are_ready_at_once) {
  for (const Tuning tuning : {Tuning::low_latency, Tuning::ultra_low_latency}) {
    EncoderOptions options = nvenc_options();
    options.tuning = tuning;
    const auto encoder = create_encoder(options);
    for (int time = 0; time < 5; ++time) {
      const Image image = nvenc_pattern_for(options, time);
      ASSERT_TRUE(encoder->send(&image));
      const auto packet = encoder->receive();
      ASSERT_TRUE(packet.has_value()) << time;
      EXPECT_EQ(packet->pts, time);
      EXPECT_FALSE(encoder->receive().has_value());
    }
    EXPECT_TRUE(end_encoder(*encoder).empty());
  }
}

TEST_F(FakeNvencEncoder, other_packets_come_as_late_as_buffers_allow) {
  const EncoderOptions options = nvenc_options();
  const auto encoder = create_encoder(options);
  int given = 0;
  for (int time = 0; time < 20; ++time) {
    const Image image = nvenc_pattern_for(options, time);
    ASSERT_TRUE(encoder->send(&image)) << time;
    while (encoder->receive()) ++given;
    EXPECT_EQ(given, std::max(0, time - 2)) << time; // Three are being encoded.
  }
  EXPECT_EQ(end_encoder(*encoder).size(), 3u);
}

TEST_F(FakeNvencEncoder, pictures_are_not_taken_while_all_buffers_are_in_use) {
  EncoderOptions options = nvenc_options();
  options.lookahead = 4;
  const auto encoder = create_encoder(options);
  const long buffers = fake_nvenc_buffers(), resources = fake_nvenc_resources();
  EXPECT_EQ(buffers, 9);
  EXPECT_EQ(resources, 9);
  int sent = 0;
  const Image image = nvenc_pattern_for(options, 0);
  while (encoder->send(&image)) ASSERT_LT(++sent, 20);
  EXPECT_EQ(sent, 9);
  EXPECT_TRUE(encoder->receive().has_value());
  EXPECT_TRUE(encoder->send(&image));
  EXPECT_EQ(fake_nvenc_buffers(), buffers); // They are used again.
  EXPECT_EQ(fake_nvenc_resources(), resources);
  EXPECT_EQ(end_encoder(*encoder).size(), 9u);
}

TEST_F(FakeNvencEncoder, times_are_the_callers) {
  EncoderOptions options = nvenc_options();
  options.time_base = {1, 90000};
  options.b_frames = 1;
  options.gop = 20;
  const auto encoder = create_encoder(options);
  EXPECT_EQ(encoder->stream().time_base, (Rational{1, 90000}));
  const std::vector<std::int64_t> times{-7200, -3600, 1, 5000, 90000};
  const Image image = nvenc_pattern_for(options, 0);
  for (const std::int64_t time : times) ASSERT_TRUE(encoder->send(&image, time));
  ASSERT_TRUE(encoder->send(&image)); // One frame later.
  LANNER_EXPECT_ERROR(encoder->send(&image, 93600), ErrorCode::invalid_argument, "pts 93600 after pts 93600");
  const std::vector<Packet> packets = end_encoder(*encoder);
  EXPECT_EQ(times_of(packets), (std::vector<std::int64_t>{-7200, 1, -3600, 90000, 5000, 93600}));
  std::vector<std::int64_t> dts;
  for (const Packet& packet : packets) dts.push_back(packet.dts);
  EXPECT_EQ(dts, (std::vector<std::int64_t>{-10800, -7200, -3600, 1, 5000, 90000}));
}

TEST_F(FakeNvencEncoder, packets_tell_type_and_quantiser) {
  EncoderOptions options = nvenc_options();
  options.const_qp = {20, 22, 24};
  options.b_frames = 1;
  options.gop = 4;
  for (const Packet& packet : encode_patterns(options, 4)) {
    const float wanted = packet.picture_type == PictureType::i   ? 20
                         : packet.picture_type == PictureType::p ? 22
                                                                 : 24;
    EXPECT_EQ(packet.average_qp, wanted) << to_string(packet.picture_type);
  }
}

TEST_F(FakeNvencEncoder, pictures_are_idr_and_have_headers_on_request) {
  for (const char* codec : {"h264", "hevc", "av1"}) {
    EncoderOptions options = nvenc_options(codec);
    options.repeat_headers = false;
    options.tuning = Tuning::low_latency;
    const std::vector<Packet> packets = encode_patterns(options, 6, [](Encoder&, int time) {
      PictureRequest request;
      request.force_idr = time == 2;
      request.emit_headers = time == 4;
      return request;
    });
    EXPECT_EQ(types_of(packets), "DPDPPP") << codec;
    ASSERT_EQ(fake_nvenc_pictures(), 7u); // With the end.
    EXPECT_EQ(fake_nvenc_picture(2)->encodePicFlags, NV_ENC_PIC_FLAG_FORCEIDR);
    EXPECT_EQ(fake_nvenc_picture(4)->encodePicFlags, NV_ENC_PIC_FLAG_OUTPUT_SPSPPS);
    EXPECT_EQ(fake_nvenc_picture(6)->encodePicFlags, NV_ENC_PIC_FLAG_EOS);
    for (std::uint32_t i = 0; i < 6; ++i) {
      EXPECT_EQ(fake_nvenc_picture(i)->frameIdx, i);
      EXPECT_EQ(fake_nvenc_picture(i)->inputTimeStamp, i);
    }
    fake_nvenc_forget();
  }
}

TEST_F(FakeNvencEncoder, messages_are_written_before_their_pictures) {
  LANNER_NEEDS_FFMPEG();
  for (const char* codec : {"h264", "hevc"}) {
    EncoderOptions options = nvenc_options(codec);
    options.content_light = ContentLight{1000, 400};
    options.gop = 2;
    std::vector<std::byte> words(16, std::byte{7});
    words.push_back(std::byte{'!'});
    const std::vector<Packet> packets = encode_patterns(options, 3, [&](Encoder&, int time) {
      PictureRequest request;
      if (time == 1) request.sei.push_back({5, words});
      return request;
    });
    const std::vector<Frame> frames = decode_stream(bytes_of(packets), true);
    ASSERT_EQ(frames.size(), 3u);
    const auto has = [&](std::size_t frame, int type) {
      return std::ranges::any_of(frames[frame].sei, [&](const SeiMessage& one) { return one.type == type; });
    };
    EXPECT_TRUE(has(0, 144) && has(2, 144)) << codec; // At each keyframe.
    EXPECT_FALSE(has(1, 144)) << codec;
    EXPECT_TRUE(has(1, 5)) << codec;
    EXPECT_FALSE(has(0, 5)) << codec;
  }
}

TEST_F(FakeNvencEncoder, metadata_of_av1_is_given_to_the_driver) {
  const std::vector<Packet> packets = encode_patterns(nvenc_options("av1"), 1, [](Encoder&, int) {
    PictureRequest request;
    request.sei.push_back({4, {std::byte{0xb5}, std::byte{1}}});
    return request;
  });
  const auto& picture = fake_nvenc_picture(0)->codecPicParams.av1PicParams;
  EXPECT_EQ(picture.obuPayloadArrayCnt, 1u);
  const auto bytes = bytes_of(packets);
  const std::byte wanted[] = {std::byte{4}, std::byte{0xb5}, std::byte{1}};
  EXPECT_FALSE(std::ranges::search(bytes, wanted).empty());
}

TEST_F(FakeNvencEncoder, headers_lie_apart_where_asked_for) {
  for (const char* codec : {"h264", "hevc", "av1"}) {
    EncoderOptions options = nvenc_options(codec);
    options.global_header = true;
    const auto encoder = create_encoder(options);
    const std::vector<std::byte> headers = encoder->stream().extradata;
    ASSERT_GT(headers.size(), 8u) << codec;
    send_patterns(*encoder, options, 0, 1);
    const std::vector<std::byte> bytes = bytes_of(end_encoder(*encoder));
    EXPECT_TRUE(std::ranges::search(bytes, headers).empty()) << codec;
    options.global_header = false;
    EXPECT_TRUE(create_encoder(options)->stream().extradata.empty());
    const std::vector<std::byte> with_headers = bytes_of(encode_patterns(options, 1));
    EXPECT_FALSE(std::ranges::search(with_headers, headers).empty()) << codec;
  }
}

TEST_F(FakeNvencEncoder, describes_its_stream) {
  EncoderOptions options = nvenc_options("hevc");
  options.format = PixelFormat::p010;
  options.sample_aspect = {4, 3};
  const auto encoder = create_encoder(options);
  const StreamInfo& stream = encoder->stream();
  EXPECT_EQ(stream.codec, "hevc");
  EXPECT_EQ(stream.width, 160);
  EXPECT_EQ(stream.height, 64);
  EXPECT_EQ(stream.format, PixelFormat::yuv420p10);
  EXPECT_EQ(stream.native_format, "yuv420p10le");
  EXPECT_EQ(stream.bit_depth, 10);
  EXPECT_EQ(stream.average_rate, (Rational{25, 1}));
  EXPECT_EQ(stream.time_base, (Rational{1, 25}));
  EXPECT_EQ(stream.color.matrix, ColorMatrix::bt601);
  EXPECT_EQ(stream.color.range, ColorRange::limited);
}

TEST_F(FakeNvencEncoder, a_writer_writes_files_of_it) {
  LANNER_NEEDS_FFMPEG();
  const TemporaryFolder folder;
  for (const char* codec : {"h264", "hevc"})
    for (const char* name : {"clip.mp4", "clip.mkv", "clip.ts"}) {
      SCOPED_TRACE(std::string(codec) + " " + name);
      EncoderOptions options = nvenc_options(codec);
      options.b_frames = 2;
      options.gop = 5;
      const std::string path = (folder / name).string();
      VideoWriter writer(path, options);
      for (int time = 0; time < 8; ++time) writer.write(nvenc_pattern_for(options, time));
      writer.finish();
      VideoReaderOptions reading;
      reading.cache_index = false;
      VideoReader reader(open_path(path), reading);
      for (int time = 0; time < 8; ++time) {
        const auto frame = reader.next();
        ASSERT_TRUE(frame.has_value()) << time;
        expect_same(frame->image, nvenc_pattern_for(options, time));
        EXPECT_EQ(frame->key, time % 5 == 0);
      }
      EXPECT_FALSE(reader.next().has_value());
    }
}

TEST_F(FakeNvencEncoder, two_at_once_do_not_disturb_each_other) {
  EncoderOptions first = nvenc_options(), second = nvenc_options("hevc");
  second.b_frames = 2;
  second.gop = 30;
  const std::vector<std::byte> alone_first = bytes_of(encode_patterns(first, 9)),
                               alone_second = bytes_of(encode_patterns(second, 9));
  const auto a = create_encoder(first), b = create_encoder(second);
  std::vector<Packet> of_a, of_b;
  const auto add = [](std::vector<Packet>& to, std::vector<Packet> from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  for (int time = 0; time < 9; ++time) {
    add(of_a, send_patterns(*a, first, time, time + 1));
    add(of_b, send_patterns(*b, second, time, time + 1));
  }
  EXPECT_EQ(fake_nvenc_sessions(), 2);
  add(of_b, end_encoder(*b));
  add(of_a, end_encoder(*a));
  EXPECT_EQ(bytes_of(of_a), alone_first);
  EXPECT_EQ(bytes_of(of_b), alone_second);
}

TEST_F(FakeNvencEncoder, threads_have_encoders_of_their_own) {
  std::vector<std::vector<std::byte>> streams(3);
  std::vector<std::thread> threads;
  for (auto& stream : streams)
    threads.emplace_back([&stream] { stream = bytes_of(encode_patterns(nvenc_options(), 12)); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(streams[0].size(), 1000u);
  EXPECT_EQ(streams[0], streams[1]);
  EXPECT_EQ(streams[0], streams[2]);
}

TEST_F(FakeNvencEncoder, a_hundred_encoders_leave_nothing) {
  const std::size_t memory = fake_cuda_memory();
  for (int i = 0; i < 100; ++i) {
    EncoderOptions options = nvenc_options(i % 3 == 0 ? "h264" : i % 3 == 1 ? "hevc" : "av1");
    EXPECT_EQ(encode_patterns(options, 2).size(), 2u);
    EXPECT_EQ(fake_nvenc_sessions(), 0);
    EXPECT_EQ(fake_cuda_memory(), memory);
  }
}

TEST_F(FakeNvencEncoder, ends_early_without_a_trace) {
  for (const int sent : {0, 1, 4, 7}) {
    EncoderOptions options = nvenc_options();
    options.b_frames = 2;
    options.gop = 30;
    options.lookahead = sent > 4 ? 5 : 0;
    const auto encoder = create_encoder(options);
    send_patterns(*encoder, options, 0, sent);
  }
  const auto ended = create_encoder(nvenc_options());
  EXPECT_TRUE(end_encoder(*ended).empty());
  LANNER_EXPECT_ERROR(ended->send(nullptr), ErrorCode::invalid_argument, "after the end");
}

TEST_F(FakeNvencEncoder, pictures_are_read_in_the_order_of_the_callers_stream) {
  LANNER_NEEDS_FFMPEG();
  const cuda::Gpu& gpu = cuda::Gpu::get(gpu_device);
  const cuda::OwnedStream stream(gpu);
  EncoderOptions options = nvenc_options();
  options.stream = stream.stream();
  {
    const auto encoder = create_encoder(options);
    Image image = Image::allocate(PixelFormat::nv12, options.width, options.height, {}, gpu_device);
    const Image first = nvenc_pattern_for(options, 5), second = nvenc_pattern_for(options, 6);
    fake_cuda_defer(3);
    copy_image(first, image, stream.stream());
    ASSERT_TRUE(encoder->send(&image));
    copy_image(second, image, stream.stream()); // Behind what the encoder reads.
    ASSERT_TRUE(encoder->send(&image));
    const auto frames = decode_stream(bytes_of(end_encoder(*encoder)));
    fake_cuda_defer(0);
    ASSERT_EQ(frames.size(), 2u);
    expect_same(frames[0].image, first);
    expect_same(frames[1].image, second);
  }
  EXPECT_EQ(count(fake_nvenc_log(), "nvEncSetIOCudaStreams"), 1u);
}

TEST_F(FakeNvencEncoder, a_callers_context_is_used) {
  int callers = 0; // Any address is a valid context for the fake.
  EncoderOptions options = nvenc_options();
  options.context = &callers;
  const auto encoder = create_encoder(options);
  const Image there = nvenc_pattern_for(options, 0, gpu_device);
  ASSERT_TRUE(encoder->send(&there));
  const Image planar = nvenc_pattern(PixelFormat::yuv420p, options.width, options.height, 1);
  ASSERT_TRUE(encoder->send(&planar)); // Converted on the host.
  const Image other = nvenc_pattern(PixelFormat::yuv420p, options.width, options.height, 2, gpu_device);
  LANNER_EXPECT_ERROR(
      encoder->send(&other), ErrorCode::unsupported,
      "picture of yuv420p unspecified unspecified, which is not converted in a CUDA context of "
      "the caller's; expected nv12 bt601 limited");
  EXPECT_EQ(types_of(end_encoder(*encoder)), "DP");
}

TEST_F(FakeNvencEncoder, other_pictures_are_refused) {
  const EncoderOptions options = nvenc_options();
  const auto encoder = create_encoder(options);
  const Image small = nvenc_pattern(PixelFormat::nv12, 150, 64, 0);
  LANNER_EXPECT_ERROR(encoder->send(&small), ErrorCode::invalid_argument,
                      "picture of 150x64, the encoder was created for 160x64");
  Image elsewhere = nvenc_pattern_for(options, 0);
  elsewhere.device = {DeviceKind::cuda, 1};
  LANNER_EXPECT_ERROR(encoder->send(&elsewhere), ErrorCode::unsupported,
                      "lies on cuda:1, the encoder is on cuda:0");
  const Image image = nvenc_pattern_for(options, 0);
  PictureRequest request;
  request.sei.push_back({1, {}});
  LANNER_EXPECT_ERROR(encoder->send(&image, 0, request), ErrorCode::unsupported,
                      "SEI of type 1 without bytes");
  EXPECT_TRUE(encoder->send(&image));
}

TEST_F(FakeNvencEncoder, lossless_takes_only_what_it_keeps) {
  LANNER_NEEDS_FFMPEG();
  EncoderOptions options = nvenc_options();
  options.tuning = Tuning::lossless;
  options.color.range = ColorRange::full;
  const auto encoder = create_encoder(options);
  const Image limited = nvenc_pattern_for(options, 0);
  LANNER_EXPECT_ERROR(encoder->send(&limited), ErrorCode::invalid_argument, "tuning lossless with a picture");
  Image full = nvenc_pattern_for(options, 0);
  full.color.range = ColorRange::full;
  ASSERT_TRUE(encoder->send(&full));
  const auto frames = decode_stream(bytes_of(end_encoder(*encoder)));
  ASSERT_EQ(frames.size(), 1u);
  expect_same(frames[0].image, full);
}

} // namespace
} // namespace lanner::test
