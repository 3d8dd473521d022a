// Files that are not what their name says, or that ask for more than they are.

#include <lanner/encoder.h>
#include <lanner/video_reader.h>

#include <algorithm>
#include <cstring>

#include "expect_error.h"
#include "temporary_folder.h"
#include "video/clips.h"

namespace lanner {
namespace {

class Hostile : public ::testing::Test {
protected:
  void SetUp() override { LANNER_NEEDS_FFMPEG(); }
  /// Opens `content` under the name of a video that lies beside a real one.
  void expect_refused(const std::string& content, const std::string& reason) {
    if (!std::filesystem::exists(folder_ / "good.mp4")) test::make_clip(folder_ / "good.mp4", 3);
    const auto path = folder_.write("clip.mp4", content);
    LANNER_EXPECT_ERROR(open_demuxer(open_path(path)), ErrorCode::unsupported, reason);
    EXPECT_THROW(VideoReader(open_path(path)), Error);
  }
  TemporaryFolder folder_;
};

TEST_F(Hostile, PlaylistOpensNothing) {
  expect_refused("#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\ngood.mp4\n#EXT-X-ENDLIST\n",
                 "hls would open other files");
}

TEST_F(Hostile, ConcatScriptOpensNothing) {
  expect_refused("ffconcat version 1.0\nfile good.mp4\n", "concat would open other files");
}

TEST_F(Hostile, SessionDescriptionOpensNothing) {
  expect_refused("v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5000 RTP/AVP 96\n"
                 "a=rtpmap:96 H264/90000\n",
                 "sdp would open other files");
}

// With the format asked for by name the probe is out of the way; the opens themselves must still be refused.
TEST_F(Hostile, NamedFormatsOpenNothingEither) {
  test::make_clip(folder_ / "good.mp4", 3);
  DemuxerOptions options;
  options.format = "concat";
  const auto path =
      folder_.write("clip.mp4", "ffconcat version 1.0\nfile " + (folder_ / "good.mp4").string() + "\n");
  LANNER_EXPECT_ERROR(open_demuxer(open_path(path), options), ErrorCode::unsupported, "refused");
}

// FFmpeg calls a size that it cannot count a lack of memory.
TEST_F(Hostile, ASizeThatNoMemoryHoldsIsDamage) {
  EncoderOptions options;
  options.codec = "vp8";
  options.b_frames = 0;
  std::string bytes;
  try {
    bytes = test::bytes_of(test::make_clip(folder_ / "a.ivf", 10, options));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    GTEST_SKIP() << error.message();
  }
  std::size_t place = 32; // Behind the file's header; each packet has 12 bytes of its own, the size first.
  for (int i = 0; i < 4; ++i) {
    std::uint32_t size = 0;
    std::memcpy(&size, bytes.data() + place, 4);
    place += 12 + size;
  }
  bytes.replace(place, 4, "\xf0\xff\xff\xff");
  const auto source = [&] { return open_bytes(std::as_bytes(std::span(bytes))); };
  const auto demuxer = open_demuxer(source());
  int packets = 0;
  LANNER_EXPECT_ERROR(for (; demuxer->next(); ++packets){}, ErrorCode::bad_data, "cannot read");
  EXPECT_EQ(packets, 4);
  EXPECT_EQ(VideoReader(source()).size(), 4) << "what cannot be read ends the stream";
}

TEST_F(Hostile, PlaylistMayOpenWhenAllowed) {
  test::make_clip(folder_ / "good.ts", 37);
  const auto path =
      folder_.write("clip.m3u8", "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\ngood.ts\n#EXT-X-ENDLIST\n");
  DemuxerOptions options;
  options.allow_nested_opens = true;
  const auto demuxer = open_demuxer(open_path(path), options);
  EXPECT_GE(demuxer->best_video(), 0);
}

// A pattern in the name must not make FFmpeg read numbered neighbours.
TEST_F(Hostile, PatternInTheNameIsOnlyAName) {
  save_image((folder_ / "img1.png").string(), test::pattern(PixelFormat::rgb24, 16, 16, 0));
  save_image((folder_ / "img2.png").string(), test::pattern(PixelFormat::rgb24, 16, 16, 1));
  std::filesystem::copy_file(folder_ / "img1.png", folder_ / "img%d.mp4");
  VideoReader reader(open_path(folder_ / "img%d.mp4"));
  EXPECT_EQ(reader.size(), 1);
  LANNER_EXPECT_ERROR(open_path(folder_ / "img%d.png"), ErrorCode::not_found, "img%d.png");
}

TEST_F(Hostile, NoVideoAtAll) {
  for (const std::string& content :
       {std::string(), std::string("\0\0\0\x18", 4), std::string(5000, 'x'), std::string("{\"a\": 1}")}) {
    const auto path = folder_.write("clip.mp4", content);
    LANNER_EXPECT_ERROR(open_demuxer(open_path(path)), ErrorCode::bad_data, "clip.mp4");
  }
}

TEST_F(Hostile, SoundIsNotVideo) {
  std::string wave = "RIFF";
  const auto put = [&](std::uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) wave += static_cast<char>(value >> 8 * i);
  };
  put(36 + 800, 4);
  wave += "WAVEfmt ";
  put(16, 4), put(1, 2), put(1, 2), put(8000, 4), put(16000, 4), put(2, 2), put(16, 2);
  wave += "data";
  put(800, 4);
  wave += std::string(800, '\0');
  const auto path = folder_.write("clip.mp4", wave);
  LANNER_EXPECT_ERROR(VideoReader(open_path(path)), ErrorCode::bad_data, "no video stream");
}

// An uncompressed AVI frame header may claim any size.
TEST_F(Hostile, ImageLargerThanItsBytes) {
  std::string bmp("BM", 2);
  const auto put = [&](std::uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) bmp += static_cast<char>(value >> 8 * i);
  };
  put(54, 4), put(0, 4), put(54, 4), put(40, 4), put(60000, 4), put(60000, 4), put(1, 2), put(24, 2);
  put(0, 4), put(0, 4), put(0, 4), put(0, 4), put(0, 4), put(0, 4);
  const auto path = folder_.write("big.bmp", bmp);
  EXPECT_THROW(load_image(path.string()), Error);
}

TEST_F(Hostile, UnknownFormatName) {
  DemuxerOptions options;
  options.format = "nosuchformat";
  const auto path = folder_.write("clip.mp4", "x");
  LANNER_EXPECT_ERROR(open_demuxer(open_path(path), options), ErrorCode::unsupported,
                      "no demuxer 'nosuchformat'");
}

TEST_F(Hostile, PacketsFromTheCallerAreChecked) {
  const auto clip = test::make_clip(folder_ / "a.mp4", 10);
  const auto demuxer = open_demuxer(open_path(clip));
  const StreamInfo& stream = demuxer->streams().at(0);
  DecoderOptions options;
  options.threads = 1;
  const auto decoder = create_decoder(stream, options);
  unsigned seed = 1;
  int frames = 0;
  while (auto packet = demuxer->next()) {
    std::vector<std::byte> bytes(packet->bytes.begin(), packet->bytes.end());
    seed = seed * 1664525u + 1013904223u;
    bytes[seed % bytes.size()] ^= std::byte{0x55};
    packet->bytes = bytes; // Owned by nobody: the decoder must copy.
    ASSERT_TRUE(decoder->send(&*packet));
    std::fill(bytes.begin(), bytes.end(), std::byte{0});
    while (decoder->receive()) ++frames;
  }
  decoder->send(nullptr);
  while (decoder->receive()) ++frames;
  EXPECT_TRUE(decoder->finished());
  EXPECT_LE(frames, 10);
  EXPECT_THROW(decoder->send(nullptr), Error);
  decoder->flush();
  EXPECT_FALSE(decoder->finished());
}

} // namespace
} // namespace lanner
