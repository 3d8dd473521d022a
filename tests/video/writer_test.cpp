// Encoding and muxing, read back by our own reader.

#include <lanner/encoder.h>
#include <lanner/video_reader.h>
#include <lanner/video_support.h>
#include <lanner/video_writer.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "expect_error.h"
#include "temporary_folder.h"
#include "video/clips.h"

namespace lanner {
namespace {

class Writer : public ::testing::Test {
protected:
  void SetUp() override { LANNER_NEEDS_FFMPEG(); }
  TemporaryFolder folder_;
};

Image to_rgb(const Image& image) {
  Image rgb = Image::allocate(PixelFormat::rgb24, image.width, image.height);
  convert_image(image, rgb);
  return rgb;
}

double worst_psnr(const std::filesystem::path& path, std::int32_t width, std::int32_t height) {
  VideoReader reader(open_path(path));
  double worst = 100;
  while (const auto frame = reader.next()) {
    const Image original = test::pattern(PixelFormat::rgb24, width, height, static_cast<int>(frame->index));
    worst = std::min(worst, test::psnr(original, to_rgb(frame->image)));
  }
  return worst;
}

struct Quality {
  const char* codec;
  const char* file;
  double crf;
  double decibels; ///< Subsampled chroma of a picture with sharp colour edges bounds what any codec reaches.
};

TEST_F(Writer, WhatIsReadIsWhatWasWritten) {
  const Quality cases[] = {{"h264", "a.mp4", 12, 28}, {"hevc", "a.mkv", 12, 28},  {"av1", "b.mp4", 12, 28},
                           {"vp9", "a.webm", 12, 28}, {"mpeg4", "c.mp4", -1, 26}, {"mjpeg", "a.avi", -1, 26},
                           {"ffv1", "b.mkv", -1, 28}};
  int tried = 0;
  for (const Quality& entry : cases) {
    EncoderOptions options;
    options.codec = entry.codec;
    options.crf = entry.crf;
    options.b_frames = 0;
    if (entry.crf < 0 && std::string(entry.codec) != "ffv1") options.bit_rate = 4'000'000;
    try {
      test::make_clip(folder_ / entry.file, 12, options);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      continue; // This FFmpeg was built without that encoder.
    }
    ++tried;
    EXPECT_GT(worst_psnr(folder_ / entry.file, 96, 64), entry.decibels) << entry.codec;
  }
  EXPECT_GT(tried, 0);
}

TEST_F(Writer, LosslessIsExact) {
  EncoderOptions options;
  options.codec = "ffv1";
  options.format = PixelFormat::yuv444p16;
  options.b_frames = 0;
  test::make_clip(folder_ / "a.mkv", 3, options);
  VideoReader reader(open_path(folder_ / "a.mkv"));
  EXPECT_EQ(reader.stream().format, PixelFormat::yuv444p16);
  EXPECT_EQ(worst_psnr(folder_ / "a.mkv", 96, 64), 100);
}

TEST_F(Writer, TakesSizeAndColoursFromTheFirstPicture) {
  EncoderOptions options;
  options.crf = 10;
  Image first = test::pattern(PixelFormat::yuv420p, 64, 48, 0);
  first.color.matrix = ColorMatrix::bt709;
  first.color.range = ColorRange::full;
  VideoWriter writer((folder_ / "a.mp4").string(), options);
  writer.write(first);
  writer.write(first);
  writer.finish();
  VideoReader reader(open_path(folder_ / "a.mp4"));
  const auto frame = reader.next();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->image.width, 64);
  EXPECT_EQ(frame->image.height, 48);
  EXPECT_EQ(frame->image.color.matrix, ColorMatrix::bt709);
  EXPECT_EQ(frame->image.color.range, ColorRange::full);
}

TEST_F(Writer, OddSizesAndTenBits) {
  EncoderOptions options;
  options.codec = "ffv1";
  options.format = PixelFormat::yuv420p10;
  options.width = 51;
  options.height = 37;
  options.b_frames = 0;
  test::make_clip(folder_ / "a.mkv", 3, options);
  VideoReader reader(open_path(folder_ / "a.mkv"));
  const auto frame = reader.next();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->image.format, PixelFormat::yuv420p10);
  EXPECT_EQ(frame->image.width, 51);
  EXPECT_EQ(frame->image.planes[1].width, 26);
  EXPECT_EQ(frame->image.planes[1].height, 19);
}

TEST_F(Writer, LeavesNothingBehindWhenItDies) {
  {
    EncoderOptions options;
    options.width = 64;
    options.height = 48;
    VideoWriter writer((folder_ / "a.mp4").string(), options);
    for (int i = 0; i < 5; ++i) writer.write(test::pattern(PixelFormat::rgb24, 64, 48, i));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "a.mp4"));
  }
  EXPECT_EQ(folder_.entries(), 0u);
}

TEST_F(Writer, KeepsTheOldFileUntilTheNewOneIsWhole) {
  folder_.write("a.mp4", "old");
  {
    EncoderOptions options;
    VideoWriter writer((folder_ / "a.mp4").string(), options);
    writer.write(test::pattern(PixelFormat::rgb24, 64, 48, 0));
  }
  EXPECT_EQ(test::bytes_of(folder_ / "a.mp4"), "old");
  test::make_clip(folder_ / "a.mp4", 3);
  EXPECT_GT(test::bytes_of(folder_ / "a.mp4").size(), 100u);
  EXPECT_EQ(folder_.entries(), 1u);
}

TEST_F(Writer, HeaderLiesInFront) {
  const std::string bytes = test::bytes_of(test::make_clip(folder_ / "a.mp4", 8));
  EXPECT_LT(bytes.find("moov"), bytes.find("mdat"));
}

TEST_F(Writer, RemuxesPacketsUnchanged) {
  const auto from = test::make_clip(folder_ / "a.mp4", 12);
  {
    const auto demuxer = open_demuxer(open_path(from));
    const auto muxer = create_muxer((folder_ / "b.mkv").string());
    EXPECT_EQ(muxer->add_stream(demuxer->streams().at(0)), 0);
    while (const auto packet = demuxer->next()) muxer->write(*packet);
    muxer->finish();
  }
  VideoReader a(open_path(from)), b(open_path(folder_ / "b.mkv"));
  ASSERT_EQ(a.size(), b.size());
  while (const auto frame = a.next()) {
    const auto twin = b.next();
    ASSERT_TRUE(twin);
    EXPECT_EQ(test::frame_checksum(frame->image), test::frame_checksum(twin->image));
    EXPECT_NEAR(frame->seconds(), twin->seconds(), 0.001);
  }
}

TEST_F(Writer, ACompleteFileHasItsTemporaryNameUntilItIsFinished) {
  const auto from = test::make_clip(folder_ / "a.mp4", 12);
  const auto demuxer = open_demuxer(open_path(from));
  const auto muxer = create_muxer((folder_ / "b.mp4").string());
  muxer->add_stream(demuxer->streams().at(0));
  std::optional<Packet> packet = demuxer->next();
  for (; packet; packet = demuxer->next()) muxer->write(*packet);
  muxer->complete();
  EXPECT_FALSE(std::filesystem::exists(folder_ / "b.mp4"));
  const auto again = open_demuxer(open_path(from));
  packet = again->next();
  LANNER_EXPECT_ERROR(muxer->write(*packet), ErrorCode::invalid_argument, "packet after complete()");
  LANNER_EXPECT_ERROR(muxer->complete(), ErrorCode::invalid_argument, "complete() was called before");
  muxer->finish();
  LANNER_EXPECT_ERROR(muxer->finish(), ErrorCode::invalid_argument, "finish() was called before");
  EXPECT_EQ(VideoReader(open_path(folder_ / "b.mp4")).size(), 12);
}

TEST_F(Writer, AnEncoderAloneGivesAStreamThatPlays) {
  EncoderOptions options;
  options.width = 64;
  options.height = 48;
  const auto encoder = create_encoder(options);
  LANNER_EXPECT_ERROR(create_muxer((folder_ / "a.mp4").string())->add_stream(encoder->stream()),
                      ErrorCode::invalid_argument, "create its encoder with global_header set");
  const std::filesystem::path path = folder_ / "bare.h264";
  const auto muxer = create_muxer(path.string());
  const int stream = muxer->add_stream(encoder->stream());
  const auto drain = [&] {
    while (auto packet = encoder->receive()) {
      packet->stream = stream;
      muxer->write(*packet);
    }
  };
  for (int i = 0; i < 5; ++i) {
    const Image picture = test::pattern(PixelFormat::rgb24, 64, 48, i);
    while (!encoder->send(&picture, i)) drain();
  }
  encoder->send(nullptr);
  drain();
  muxer->finish();
  EXPECT_EQ(VideoReader(open_path(path)).size(), 5);
}

// Headers that were kept apart come in front of each keyframe where a container has no place for them.
TEST_F(Writer, HeadersKeptApartComeBackInStreamsWithoutAPlaceForThem) {
  struct Case {
    const char *codec, *format;
  };
  for (const auto& [codec, format] :
       {Case{"h264", "h264"}, Case{"hevc", "hevc"}, Case{"mpeg4", "m4v"}, Case{"h264", "mpegts"},
        Case{"hevc", "mpegts"}, Case{"mpeg4", "mpegts"}}) {
    SCOPED_TRACE(fmt::format("{} in {}", codec, format));
    const std::vector<std::string> encoders = video_support().encoders;
    if (std::string_view(codec) == "hevc" && std::ranges::find(encoders, "libx265") == encoders.end())
      continue;
    EncoderOptions options;
    options.codec = codec;
    options.width = 64;
    options.height = 48;
    options.gop = 3;
    options.b_frames = 0;
    options.global_header = true;
    const auto encoder = create_encoder(options);
    const std::filesystem::path path = folder_ / "bare";
    const auto muxer = create_muxer(path.string(), format);
    const int stream = muxer->add_stream(encoder->stream());
    std::vector<Packet> packets;
    const auto drain = [&] {
      while (auto packet = encoder->receive()) packets.push_back(*packet);
    };
    for (int i = 0; i < 7; ++i) {
      const Image picture = test::pattern(PixelFormat::rgb24, 64, 48, i);
      while (!encoder->send(&picture, i)) drain();
    }
    encoder->send(nullptr);
    drain();
    for (Packet& packet : packets) {
      packet.stream = stream;
      muxer->write(packet);
    }
    muxer->finish();
    DemuxerOptions demuxing;
    demuxing.format = format;
    VideoReaderOptions reading;
    reading.demuxer = demuxing;
    VideoReader reader(open_path(path), reading);
    EXPECT_EQ(reader.size(), 7);
    EXPECT_NO_THROW(reader.at(6)); // From the last keyframe on.
  }
}

TEST_F(Writer, NothingIsPutInFrontOfKeyframesThatHaveTheirHeaders) {
  EncoderOptions options;
  options.gop = 3;
  const auto from = test::make_clip(folder_ / "a.h264", 7, options);
  {
    const auto demuxer = open_demuxer(open_path(from));
    const auto muxer = create_muxer((folder_ / "b.h264").string());
    muxer->add_stream(demuxer->streams().at(0));
    while (const auto packet = demuxer->next()) muxer->write(*packet);
    muxer->finish();
  }
  EXPECT_EQ(test::bytes_of(from), test::bytes_of(folder_ / "b.h264"));
}

TEST_F(Writer, WhatIsGivenInTwoWaysIsRefused) {
  const auto refused = [](auto&& change, const char* line) {
    EncoderOptions options;
    options.width = 64;
    options.height = 48;
    change(options);
    LANNER_EXPECT_ERROR(create_encoder(options), ErrorCode::invalid_argument, line);
  };
  refused(
      [](EncoderOptions& o) {
        o.crf = 20, o.codec_options = {{"crf", "30"}};
      },
      "crf and codec_options[\"crf\"] exclude each other; give one");
  refused(
      [](EncoderOptions& o) {
        o.bit_rate = 100'000, o.codec_options = {{"crf", "30"}};
      },
      "bit_rate and codec_options");
  refused(
      [](EncoderOptions& o) {
        o.preset = "slow", o.codec_options = {{"preset", "fast"}};
      },
      "preset and codec_options");
  refused([](EncoderOptions& o) { o.gop = 3, o.codec_options = {{"g", "4"}}; }, "gop and codec_options");
  refused(
      [](EncoderOptions& o) {
        o.b_frames = 0, o.codec_options = {{"bf", "1"}};
      },
      "b_frames and codec_options");
  refused(
      [](EncoderOptions& o) {
        o.threads = 1, o.codec_options = {{"threads", "2"}};
      },
      "threads and codec_options");
  refused([](EncoderOptions& o) { o.codec = "ffv1", o.bit_rate = 100'000; }, "keeps every sample");
}

TEST_F(Writer, OptionsThatExcludeOneAnotherAreRefused) {
  const auto refused = [](auto&& change, const char* line) {
    EncoderOptions options;
    options.width = 64;
    options.height = 48;
    change(options);
    LANNER_EXPECT_ERROR(create_encoder(options), ErrorCode::invalid_argument, line);
  };
  refused([](EncoderOptions& o) { o.crf = 20, o.bit_rate = 1000; }, "crf 20 and bit_rate 1000 exclude each");
  refused([](EncoderOptions& o) { o.crf = -5; }, "crf -5");
  refused([](EncoderOptions& o) { o.crf = std::nan(""); }, "crf nan");
  refused([](EncoderOptions& o) { o.gop = -1; }, "gop -1");
  refused([](EncoderOptions& o) { o.b_frames = -2; }, "b_frames -2");
  refused([](EncoderOptions& o) { o.threads = -1; }, "threads -1");
}

TEST_F(Writer, WrongRequestsAreNamed) {
  const std::string path = (folder_ / "a.mp4").string();
  EncoderOptions options;
  options.width = 64;
  options.height = 48;
  options.codec = "nosuch";
  LANNER_EXPECT_ERROR(create_encoder(options), ErrorCode::unsupported, "no encoder 'nosuch'");
  options.codec = "h264";
  options.codec_options = {{"nosuchoption", "1"}};
  LANNER_EXPECT_ERROR(create_encoder(options), ErrorCode::invalid_argument, "nosuchoption");
  options.codec_options.clear();
  options.width = 0;
  LANNER_EXPECT_ERROR(create_encoder(options), ErrorCode::invalid_argument, "0x48");
  LANNER_EXPECT_ERROR(create_muxer((folder_ / "a.xyz").string()), ErrorCode::unsupported, "'.xyz'");
  LANNER_EXPECT_ERROR(create_muxer((folder_ / "no/such/a.mp4").string()), ErrorCode::not_found, "a.mp4");
  VideoWriter writer(path, {});
  LANNER_EXPECT_ERROR(writer.finish(), ErrorCode::invalid_argument, "no picture");
  writer.write(test::pattern(PixelFormat::rgb24, 64, 48, 0), 5);
  LANNER_EXPECT_ERROR(writer.write(test::pattern(PixelFormat::rgb24, 64, 48, 0), 5),
                      ErrorCode::invalid_argument, "after pts 5");
  LANNER_EXPECT_ERROR(writer.write(test::pattern(PixelFormat::rgb24, 32, 48, 0)), ErrorCode::invalid_argument,
                      "32x48");
}

TEST_F(Writer, GivesTheBytesOfAStreamInOrder) {
  for (const std::string format : {"matroska", "mpegts", "mp4"}) {
    std::string bytes;
    const auto take = [&](std::span<const std::byte> some) {
      bytes.append(reinterpret_cast<const char*>(some.data()), some.size());
    };
    VideoWriter writer(create_muxer(take, format), EncoderOptions{});
    for (int i = 0; i < 5; ++i) writer.write(test::pattern(PixelFormat::rgb24, 64, 48, i));
    writer.finish();
    VideoReader reader(open_bytes(std::as_bytes(std::span(bytes))));
    EXPECT_EQ(reader.size(), 5) << format;
  }
  LANNER_EXPECT_ERROR(create_muxer([](auto) {}, "avi", "a pipe"), ErrorCode::unsupported,
                      "a pipe: container 'avi' cannot be written without going back");
  const auto full = [](std::span<const std::byte>) { throw Error(ErrorCode::io, "it is full"); };
  VideoWriter writer(create_muxer(full, "mpegts"), EncoderOptions{});
  writer.write(test::pattern(PixelFormat::rgb24, 64, 48, 0));
  LANNER_EXPECT_ERROR(writer.finish(), ErrorCode::io, "it is full");
}

TEST_F(Writer, CopiedStreamsBeginWhereTheFramesDo) {
  const auto source = folder_.path() / "in.mkv", path = folder_.path() / "out.mkv";
  if (!test::output_of("ffmpeg -v error -f lavfi -i testsrc2=s=96x64:r=10:d=2 -f lavfi -i sine=d=2 -c:v ffv1 "
                       "-c:a pcm_s16le " +
                       test::quoted(source)))
    GTEST_SKIP() << "the program ffmpeg, which makes the clip, is not installed";
  EncoderOptions encoder;
  encoder.codec = "ffv1";
  VideoWriterOptions options(encoder);
  options.begin = 1.0;
  options.copied.source = open_path(source);
  VideoWriter out(path.string(), options);
  VideoReader reader(open_path(source));
  while (const auto frame = reader.next())
    if (frame->index >= 10) out.write(*frame);
  out.finish();
  double first[2] = {1e9, 1e9}, last[2] = {0, 0};
  const auto demuxer = open_demuxer(open_path(path));
  while (const auto packet = demuxer->next()) {
    const auto stream = static_cast<std::size_t>(packet->stream);
    const double seconds = seconds_of(packet->pts, demuxer->streams()[stream].time_base);
    first[stream] = std::min(first[stream], seconds);
    last[stream] = std::max(last[stream], seconds);
  }
  for (const std::size_t stream : {0, 1}) {
    EXPECT_NEAR(first[stream], 0, 0.03) << stream;
    EXPECT_NEAR(last[stream], 0.95, 0.05) << stream;
  }
}

TEST_F(Writer, StillImages) {
  const Image original = test::pattern(PixelFormat::rgb24, 61, 43, 0);
  save_image((folder_ / "a.png").string(), original);
  const Image png = load_image((folder_ / "a.png").string());
  EXPECT_EQ(png.format, PixelFormat::rgb24);
  EXPECT_EQ(test::psnr(original, png), 100);
  EXPECT_EQ(test::psnr(original, decode_image(encode_image(original, "png"))), 100);
  LANNER_EXPECT_ERROR(decode_image({}, {}, "nothing"), ErrorCode::bad_data, "nothing: no known image format");
  save_image((folder_ / "a.JPG").string(), original);
  const Image jpeg = load_image((folder_ / "a.JPG").string());
  EXPECT_GT(test::psnr(original, to_rgb(jpeg)), 38);
  LANNER_EXPECT_ERROR(save_image((folder_ / "a.gif").string(), original), ErrorCode::unsupported, ".gif");
  std::string bytes = test::bytes_of(folder_ / "a.png");
  bytes.resize(bytes.size() / 2);
  folder_.write("half.png", bytes);
  EXPECT_THROW(load_image((folder_ / "half.png").string()), Error);
  folder_.write("none.png", "not an image");
  LANNER_EXPECT_ERROR(load_image((folder_ / "none.png").string()), ErrorCode::bad_data,
                      "no known image format");
}

TEST_F(Writer, StillImagesAsBytes) {
  const Image original = test::pattern(PixelFormat::rgb24, 40, 30, 0);
  for (const char* kind : {"png", "jpg"}) {
    const std::vector<std::byte> bytes = encode_image(original, kind);
    const auto path = folder_.write("a.bin", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    EXPECT_GT(test::psnr(original, to_rgb(load_image(path.string()))), 38) << kind;
  }
  LANNER_EXPECT_ERROR(encode_image(original, "gif"), ErrorCode::invalid_argument, "png, jpg");
}

// The eight EXIF orientations: tag value, and where the stored first row and first column are shown
// (TIFF 6.0).
TEST_F(Writer, ExifOrientation) {
  Image upright = Image::allocate(PixelFormat::rgb24, 48, 32);
  for (std::int32_t y = 0; y < 32; ++y)
    for (std::int32_t x = 0; x < 48; ++x) {
      std::byte* pixel = upright.planes[0].data + y * upright.planes[0].pitch + 3 * x;
      const int color = (x < 24 ? 0 : 1) + (y < 16 ? 0 : 2); // Quarters: black, red, green, white.
      pixel[0] = color & 1 ? std::byte{255} : std::byte{0};
      pixel[1] = color & 2 ? std::byte{255} : std::byte{0};
      pixel[2] = color == 3 ? std::byte{255} : std::byte{0};
    }
  save_image((folder_ / "u.jpg").string(), upright);
  const std::string plain = test::bytes_of(folder_ / "u.jpg");
  // Quarters of the shown picture: top left, top right, bottom left, bottom right.
  const char* shown[9] = {"", "0123", "1032", "3210", "2301", "0213", "2031", "3120", "1302"};
  for (char value = 1; value <= 8; ++value) {
    std::string app1("\xff\xe1\x00\x22"
                     "Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0",
                     29);
    app1 += value;
    app1 += std::string("\0\0\0\0\0\0", 36 - app1.size());
    folder_.write("o.jpg", plain.substr(0, 2) + app1 + plain.substr(2));
    const Image image = to_rgb(load_image((folder_ / "o.jpg").string()));
    EXPECT_EQ(image.width, value <= 4 ? 48 : 32);
    std::string seen;
    for (const auto& [x, y] : {std::pair{1, 1}, {3, 1}, {1, 3}, {3, 3}}) {
      const std::byte* pixel =
          image.planes[0].data + y * image.height / 4 * image.planes[0].pitch + 3 * (x * image.width / 4);
      const auto bit = [&](int c) { return std::to_integer<int>(pixel[c]) > 127; };
      seen += static_cast<char>('0' + (bit(0) ? 1 : 0) + (bit(1) ? 2 : 0));
    }
    EXPECT_EQ(seen, shown[static_cast<int>(value)]) << "orientation " << int{value};
  }
}

TEST(VideoSupportTest, NamesWhatThereIs) {
  const VideoSupport support = video_support();
  if (!support.available) {
    EXPECT_FALSE(support.reason.empty());
    GTEST_SKIP() << support.reason;
  }
  EXPECT_NE(support.path.find("liblanner-ffmpeg"), std::string::npos);
  EXPECT_NE(std::find(support.decoders.begin(), support.decoders.end(), "h264"), support.decoders.end());
  EXPECT_FALSE(support.version.empty());
  EXPECT_FALSE(support.encoders.empty() || support.demuxers.empty() || support.muxers.empty());
}

} // namespace
} // namespace lanner
