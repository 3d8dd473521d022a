// Decoding on a GPU against decoding on the CPU and published digests. Every test goes through all its clips
// and says of each that differs what differs, so that one run on a machine with a GPU tells all there is.

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>

#include <lanner/demuxer.h>
#include <lanner/video_reader.h>

#include "device/cuda/gpu.h"
#include "source_dir.h"
#include "temporary_folder.h"
#include "video/clips.h"

namespace lanner {
namespace {

constexpr Device gpu_device{DeviceKind::cuda, 0};

/// How far pictures of a codec may be from the CPU's: the inverse transforms of MPEG-1, 2 and 4 are specified
/// to an accuracy (ISO/IEC 23002-1), all others to the bit; damage is concealed as everybody likes.
struct Clip {
  const char* path;
  int max_difference = 0;
};
constexpr int concealed = 256;
constexpr Clip clips[] = {{"jvt/BA1_Sony_D.jsv"},
                          {"jvt/BANM_MW_D.264"},
                          {"jvt/BA_MW_D.264"},
                          {"jvt/BA_MW_D_IDR_LOST.264", concealed},
                          {"jvt/CI_MW_D.264"},
                          {"jvt/Error_I_P.264", concealed},
                          {"jvt/MIDR_MW_D.264"},
                          {"jvt/NRF_MW_E.264"},
                          {"jvt/SVA_BA2_D.264"},
                          {"jvt/SVA_Base_B.264"},
                          {"jvt/SVA_CL1_E.264"},
                          {"jvt/SVA_NL2_E.264"},
                          {"jvt/VID_1920x1080_cabac_temporal_direct.264"},
                          {"torchcodec/av1_video.mkv"},
                          {"torchcodec/bt601_full_range.mp4"},
                          {"torchcodec/bt601_limited_range.mp4"},
                          {"torchcodec/bt709_full_range.mp4"},
                          {"torchcodec/discard_first_keyframe.mp4"},
                          {"torchcodec/h264_10bits.mp4"},
                          {"torchcodec/h265_10bits.mp4"},
                          {"torchcodec/nasa_13013.mp4"},
                          {"torchcodec/nasa_13013_rotated.mp4"},
                          {"torchcodec/test_non_zero_start.mp4"},
                          {"torchcodec/testsrc2.mp4"},
                          {"torchcodec/testsrc2_444_8bit_hevc.mp4"},
                          {"torchcodec/testsrc2_h265.mp4"},
                          {"torchcodec/testsrc2_odd_height_and_width_vp9.mp4"},
                          {"torchcodec/testsrc2_odd_width_mpeg2.mp4", 4},
                          {"torchcodec/testsrc2_vp8.webm"},
                          {"torchcodec/testsrc2_vp9.webm"},
                          {"vali/pts_test_video.mkv"},
                          {"vali/test.mp4"},
                          {"vali/test_hevc10.mkv"},
                          {"vali/test_mpeg4.mpg", 4},
                          {"vali/test_res_change.h264"},
                          {"vali/test_rot_90_deg.mp4"}};

/// Why GPU tests cannot run here; empty when they can.
std::string no_gpu() {
  if (!video_support().available) return video_support().reason;
  if (!std::filesystem::exists(test::shared_data_dir() / "video")) return "no shared data";
  try {
    decoder_capabilities(gpu_device);
    return {};
  } catch (const Error& error) {
    return error.message();
  }
}

#define LANNER_NEEDS_NVDEC()                                                                                 \
  if (const std::string reason = no_gpu(); !reason.empty()) GTEST_SKIP() << reason

VideoReader open_clip(std::string_view path, std::optional<Device> device, DecoderOptions decoder = {}) {
  VideoReaderOptions options;
  options.decoder = std::move(decoder);
  options.decoder.device = device;
  options.rotate = false;
  return VideoReader(open_path(test::shared_data_dir() / "video" / path), options);
}

/// The image on the host in `format`, which may differ from its own in storage only.
Image on_host(const Image& image, PixelFormat format) {
  Image host = image;
  if (!image.device.is_host()) {
    host = Image::allocate(image.format, image.width, image.height);
    copy_image(image, host);
  }
  if (host.format == format) return host;
  Image planar = Image::allocate(format, host.width, host.height);
  planar.color = host.color;
  convert_image(host, planar);
  return planar;
}

int largest_difference(const Image& a, const Image& b) {
  if (a.format != b.format || a.width != b.width || a.height != b.height) return INT32_MAX;
  int most = 0;
  const PixelFormatInfo& facts = format_info(a.format);
  for (std::size_t p = 0; p < facts.planes; ++p)
    for (std::int32_t y = 0; y < a.planes[p].height; ++y) {
      const std::byte *one = a.planes[p].data + y * a.planes[p].pitch,
                      *two = b.planes[p].data + y * b.planes[p].pitch;
      const int samples = a.planes[p].width * facts.samples[p];
      for (int x = 0; x < samples; ++x) {
        std::uint16_t left = 0, right = 0;
        std::memcpy(&left, one + x * facts.bytes_per_sample, facts.bytes_per_sample);
        std::memcpy(&right, two + x * facts.bytes_per_sample, facts.bytes_per_sample);
        most = std::max(most, std::abs(left - right));
      }
    }
  return most;
}

/// What differs between two ways to decode a clip, counted.
struct Differences {
  std::string first;
  int frames = 0, unequal = 0;

  void note(std::int64_t frame, const std::string& what) {
    ++unequal;
    if (unequal <= 3) first += fmt::format("\n    frame {}: {}", frame, what);
  }
  void compare(std::int64_t i, const Frame& want, const Frame& got, int max_difference) {
    ++frames;
    if (want.pts != got.pts || want.duration != got.duration)
      note(i, fmt::format("pts {} for {}, not {} for {}", got.pts, got.duration, want.pts, want.duration));
    if (want.rotation != got.rotation || !(want.sample_aspect == got.sample_aspect))
      note(i,
           fmt::format("rotation {}, aspect {}:{}, not {}, {}:{}", got.rotation, got.sample_aspect.num,
                       got.sample_aspect.den, want.rotation, want.sample_aspect.num, want.sample_aspect.den));
    if (want.interlaced != got.interlaced)
      note(i, got.interlaced ? "interlaced, not progressive" : "progressive, not interlaced");
    const ColorInfo &a = want.image.color, &b = got.image.color;
    if (!(a == b))
      note(i,
           fmt::format("colour {} {} {} {} {}, not {} {} {} {} {}", to_string(b.matrix), to_string(b.range),
                       to_string(b.siting), b.primaries, b.transfer, to_string(a.matrix), to_string(a.range),
                       to_string(a.siting), a.primaries, a.transfer));
    if (max_difference == concealed) return;
    const Image host = on_host(got.image, want.image.format);
    const int difference = largest_difference(want.image, host);
    if (difference > max_difference)
      note(i, difference == INT32_MAX ? fmt::format("{}x{} {}, not {}x{} {}", host.width, host.height,
                                                    to_string(got.image.format), want.image.width,
                                                    want.image.height, to_string(want.image.format))
                                      : fmt::format("samples differ by up to {}", difference));
  }
  void compare_all(VideoReader& want, VideoReader& got, int max_difference) {
    for (std::int64_t i = 0;; ++i) {
      const auto a = want.next(), b = got.next();
      if (!a && !b) return;
      if (!a || !b) return note(i, a ? "missing" : "one too many");
      compare(i, *a, *b, max_difference);
    }
  }
};

class NvdecClip : public ::testing::TestWithParam<Clip> {};

std::string name_of(const ::testing::TestParamInfo<Clip>& parameter) {
  std::string name = parameter.param.path;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

TEST_P(NvdecClip, EqualsTheCpu) {
  LANNER_NEEDS_NVDEC();
  VideoReader want = open_clip(GetParam().path, Device{}), got = open_clip(GetParam().path, std::nullopt);
  Differences found;
  found.compare_all(want, got, GetParam().max_difference);
  EXPECT_EQ(found.unequal, 0) << GetParam().path << " by " << got.decoder_description() << " ("
                              << got.decoder_reason() << "), " << found.frames << " frames:" << found.first;
}

TEST_P(NvdecClip, RandomOrderEqualsTheCpu) {
  LANNER_NEEDS_NVDEC();
  if (GetParam().max_difference == concealed) GTEST_SKIP() << "damaged";
  VideoReader linear = open_clip(GetParam().path, Device{}), got = open_clip(GetParam().path, std::nullopt);
  std::vector<Frame> want;
  while (auto frame = linear.next()) {
    want.push_back(std::move(*frame));
    if (want.size() == 120) break;
  }
  Differences found;
  std::mt19937 random(5);
  for (int probe = 0; probe < 24; ++probe) {
    const auto i = std::uniform_int_distribution<std::size_t>(0, want.size() - 1)(random);
    const Frame frame = got.at(static_cast<std::int64_t>(i));
    found.compare(static_cast<std::int64_t>(i), want[i], frame, GetParam().max_difference);
  }
  EXPECT_EQ(found.unequal, 0) << GetParam().path << " by " << got.decoder_description() << ":" << found.first;
}

INSTANTIATE_TEST_SUITE_P(Video, NvdecClip, ::testing::ValuesIn(clips), name_of);

TEST(Nvdec, DigestsOfTheConformanceStreams) {
  LANNER_NEEDS_NVDEC();
  const auto folder = test::shared_data_dir() / "video/jvt";
  for (const std::string& line : test::lines_of(test::bytes_of(folder / "md5.txt"))) {
    const std::string digest = line.substr(0, 32), name = line.substr(line.find_last_of(' ') + 1);
    for (const auto device : {std::optional<Device>(), std::optional<Device>(gpu_device)}) try {
        VideoReader reader = open_clip("jvt/" + name, device);
        test::Md5 md5;
        while (const auto frame = reader.next()) md5.update(on_host(frame->image, PixelFormat::yuv420p));
        EXPECT_EQ(md5.hex(), digest) << name << " by " << reader.decoder_description() << " ("
                                     << reader.decoder_reason() << ")";
      } catch (const Error& error) {
        // What a named GPU refuses, `auto` decodes elsewhere.
        EXPECT_TRUE(device && error.code() == ErrorCode::unsupported) << name << ": " << error.message();
      }
  }
}

TEST(Nvdec, FramesOutliveTheirReader) {
  LANNER_NEEDS_NVDEC();
  const char* path = "torchcodec/nasa_13013.mp4";
  std::vector<Frame> held;
  {
    VideoReader reader = open_clip(path, gpu_device);
    while (held.size() < 200) {
      auto frame = reader.next();
      if (!frame) break;
      held.push_back(std::move(*frame));
    }
  }
  VideoReader want = open_clip(path, Device{});
  Differences found;
  for (std::size_t i = 0; i < held.size(); ++i)
    found.compare(static_cast<std::int64_t>(i), *want.next(), held[i], 0);
  EXPECT_EQ(held.size(), 200u);
  EXPECT_EQ(found.unequal, 0) << found.first;
}

TEST(Nvdec, FramesOnTheHostAndInTheOrderOfAStream) {
  LANNER_NEEDS_NVDEC();
  const cuda::OwnedStream stream(cuda::Gpu::get(gpu_device));
  for (const char* path :
       {"torchcodec/nasa_13013.mp4", "torchcodec/h265_10bits.mp4", "torchcodec/testsrc2_444_8bit_hevc.mp4"}) {
    for (const bool to_host : {true, false}) {
      DecoderOptions options;
      if (to_host) options.output = Device{};
      if (!to_host) options.stream = stream.stream();
      VideoReader want = open_clip(path, Device{}), got = open_clip(path, gpu_device, options);
      Differences found;
      for (int i = 0; i < 60; ++i) {
        const auto a = want.next(), b = got.next();
        ASSERT_EQ(a.has_value(), b.has_value()) << path;
        if (!a) break;
        EXPECT_EQ(b->image.device.is_host(), to_host) << path;
        EXPECT_EQ(b->stream.handle, options.stream.handle) << path;
        stream.synchronize();
        found.compare(i, *a, *b, 0);
      }
      EXPECT_EQ(found.unequal, 0) << path << (to_host ? " on the host" : " by a stream") << found.first;
    }
  }
}

/// A clip that is made here, for what the shared ones lack.
struct MadeClip {
  const char *codec, *container;
  std::int32_t width = 176, height = 144;
  int max_difference = 0;
  std::map<std::string, std::string> options = {};
};

TEST(Nvdec, ClipsMadeHereEqualTheCpu) {
  LANNER_NEEDS_NVDEC();
  const std::map<std::string, std::string> fields{{"flags", "+ildct+ilme"}};
  const MadeClip made[] = {{"h264", "ts"},
                           {"h264", "mp4", 178, 146},
                           {"h264", "mkv", 1920, 1080},
                           {"h264", "mkv", 192, 160, 0, fields},
                           {"hevc", "mp4", 178, 146},
                           {"hevc", "ts", 322, 242},
                           {"vp9", "mkv", 177, 145},
                           {"libvpx", "mkv", 177, 145},
                           {"mpeg1video", "mkv", 178, 146, 4},
                           {"mpeg2video", "mkv", 179, 147, 4},
                           {"mpeg2video", "ts", 192, 144, 4, fields},
                           {"mpeg4", "mkv", 179, 147, 4},
                           {"mpeg4", "avi", 192, 144, 4},
                           {"mjpeg", "avi", 178, 146, 6},
                           {"mjpeg", "mkv", 177, 145, 6}};
  const TemporaryFolder folder;
  for (const MadeClip& clip : made) {
    const std::string name = fmt::format("{} {}x{} in {}{}", clip.codec, clip.width, clip.height,
                                         clip.container, clip.options.empty() ? "" : ", fields");
    EncoderOptions options;
    options.codec = clip.codec;
    options.width = clip.width, options.height = clip.height;
    options.codec_options = clip.options;
    if (std::string_view(clip.codec) == "mjpeg") options.b_frames = 0;
    const auto path = folder.path() / fmt::format("clip.{}", clip.container);
    try {
      test::make_clip(path, 20, options);
    } catch (const Error& error) { // An encoder that this FFmpeg lacks.
      std::printf("    %s: not made: %s\n", name.c_str(), error.message().c_str());
      continue;
    }
    try {
      VideoReaderOptions reader;
      VideoReader want(open_path(path), reader);
      reader.decoder.device = std::nullopt;
      VideoReader got(open_path(path), reader);
      Differences found;
      found.compare_all(want, got, clip.max_difference);
      EXPECT_EQ(found.unequal, 0) << name << " by " << got.decoder_description() << " ("
                                  << got.decoder_reason() << "), " << found.frames
                                  << " frames:" << found.first;
      std::printf("    %s: %s\n", name.c_str(), got.decoder_reason().c_str());
    } catch (const Error& error) {
      ADD_FAILURE() << name << ": " << error.message();
    }
  }
}

/// Frames of a whole clip through one decoder, which may have decoded others before.
std::vector<Frame> decode_all(Decoder& decoder, Demuxer& demuxer, int stream) {
  std::vector<Frame> frames;
  const auto take = [&] {
    while (auto frame = decoder.receive()) frames.push_back(std::move(*frame));
  };
  while (const auto packet = demuxer.next()) {
    if (packet->stream != stream) continue;
    while (!decoder.send(&*packet)) take();
    take();
  }
  while (!decoder.send(nullptr)) take();
  take();
  return frames;
}

TEST(Nvdec, OneDecoderForManyClips) {
  LANNER_NEEDS_NVDEC();
  std::unique_ptr<Decoder> decoder;
  DecoderOptions options;
  options.device = gpu_device;
  options.output = Device{};
  for (const char* path :
       {"torchcodec/testsrc2.mp4", "torchcodec/testsrc2_h265.mp4", "torchcodec/av1_video.mkv",
        "torchcodec/bt709_full_range.mp4", "torchcodec/testsrc2.mp4", "torchcodec/testsrc2_vp9.webm",
        "torchcodec/h265_10bits.mp4", "vali/test.mp4"}) {
    const auto demuxer = open_demuxer(open_path(test::shared_data_dir() / "video" / path));
    const StreamInfo& stream = demuxer->streams().at(static_cast<std::size_t>(demuxer->best_video()));
    try {
      if (decoder)
        decoder->reset(stream);
      else
        decoder = create_decoder(stream, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported) << path << ": " << error.message();
      continue;
    }
    const std::vector<Frame> got = decode_all(*decoder, *demuxer, stream.index);
    VideoReader want = open_clip(path, Device{});
    std::size_t unequal = 0, i = 0;
    for (; const auto frame = want.next(); ++i)
      unequal +=
          i >= got.size() || largest_difference(frame->image, on_host(got[i].image, frame->image.format)) > 0;
    EXPECT_EQ(unequal, 0u) << path << ": " << unequal << " of " << i << " frames differ";
    EXPECT_EQ(got.size(), i) << path;
  }
}

TEST(Nvdec, ThreadsDecodeSideBySide) {
  LANNER_NEEDS_NVDEC();
  const char* path = "torchcodec/testsrc2_h265.mp4";
  std::vector<std::uint32_t> want;
  VideoReader linear = open_clip(path, Device{});
  while (const auto frame = linear.next()) want.push_back(test::frame_checksum(frame->image));
  std::vector<int> unequal(8, -1);
  std::vector<std::thread> threads;
  for (int& count : unequal)
    threads.emplace_back([&] {
      VideoReader reader = open_clip(path, gpu_device);
      std::size_t i = 0;
      int wrong = 0;
      for (; const auto frame = reader.next(); ++i)
        wrong +=
            i >= want.size() || test::frame_checksum(on_host(frame->image, PixelFormat::yuv420p)) != want[i];
      count = wrong + (i != want.size());
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(unequal, std::vector<int>(8, 0));
}

} // namespace
} // namespace lanner
