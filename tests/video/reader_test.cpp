// Reading clips that the tests make themselves.

#include <lanner/encoder.h>
#include <lanner/video_reader.h>
#include <lanner/video_writer.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include "base/check.h"
#include "expect_error.h"
#include "temporary_folder.h"
#include "video/clips.h"
#include "video/index/stream_index.h"

namespace lanner {
namespace {

using test::make_clip;

std::vector<std::uint32_t> checksums(const std::filesystem::path& path) {
  VideoReader reader(open_path(path));
  std::vector<std::uint32_t> sums;
  while (const auto frame = reader.next()) sums.push_back(test::frame_checksum(frame->image));
  return sums;
}

struct Case {
  const char* codec;
  const char* extension;
  std::map<std::string, std::string> settings;
};

// Containers and structures that differ in how frames are found: no timestamps at all, cues, byte positions,
// open GOPs.
const Case cases[] = {
    {"h264", ".mp4", {}},
    {"h264", ".mkv", {}},
    {"h264", ".ts", {}},
    {"h264", ".264", {}},
    {"h264", ".avi", {}},
    {"h264", ".flv", {}},
    {"h264", ".mp4", {{"x264-params", "open-gop=1:keyint=8:min-keyint=8:bframes=3:scenecut=0"}}},
    {"hevc",
     ".mp4",
     {{"x265-params", "log-level=none:open-gop=1:keyint=8:min-keyint=8:bframes=3:scenecut=0"}}},
    {"hevc",
     ".265",
     {{"x265-params", "log-level=none:open-gop=1:keyint=8:min-keyint=8:bframes=3:scenecut=0"}}},
    {"mpeg2", ".mpg", {}},
    {"mpeg2", ".ts", {}},
    {"mpeg4", ".avi", {}},
    {"mpeg4", ".mp4", {}},
    {"mjpeg", ".avi", {}},
    {"vp9", ".webm", {}},
    {"vp8", ".webm", {{"auto-alt-ref", "1"}, {"lag-in-frames", "16"}}},
    {"ffv1", ".mkv", {}},
};

class OwnClip : public ::testing::TestWithParam<int> {
protected:
  void SetUp() override {
    LANNER_NEEDS_FFMPEG();
    const Case& parameter = cases[GetParam()];
    EncoderOptions options;
    options.codec = parameter.codec;
    options.codec_options = parameter.settings;
    if (std::string(parameter.codec) == "mjpeg" || std::string(parameter.codec).substr(0, 2) == "vp")
      options.b_frames = 0;
    if (std::string(parameter.codec) == "ffv1") options.b_frames = 0;
    try {
      path_ = make_clip(folder_ / (std::string("clip") + parameter.extension), frames_, options);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      GTEST_SKIP() << error.message();
    }
  }

  static constexpr int frames_ = 37;
  TemporaryFolder folder_;
  std::filesystem::path path_;
};

TEST_P(OwnClip, EveryFrameByNumber) {
  const std::vector<std::uint32_t> expected = checksums(path_);
  ASSERT_EQ(expected.size(), static_cast<std::size_t>(frames_));
  EXPECT_GT(std::set<std::uint32_t>(expected.begin(), expected.end()).size(), 30u);
  VideoReader reader(open_path(path_));
  ASSERT_EQ(reader.size(), frames_);
  for (int step = 0; step < frames_; ++step) {
    const int i = step * 23 % frames_; // Visits all, forwards and backwards.
    const Frame frame = reader.at(i);
    ASSERT_EQ(test::frame_checksum(frame.image), expected[static_cast<std::size_t>(i)]) << "frame " << i;
    ASSERT_EQ(frame.index, i);
  }
}

TEST_P(OwnClip, ContinuesAfterRandomAccess) {
  const std::vector<std::uint32_t> expected = checksums(path_);
  VideoReader reader(open_path(path_));
  reader.at(17);
  for (std::size_t i = 18; i < expected.size(); ++i) {
    const auto frame = reader.next();
    ASSERT_TRUE(frame) << i;
    ASSERT_EQ(test::frame_checksum(frame->image), expected[i]) << "frame " << i;
    ASSERT_EQ(frame->index, static_cast<std::int64_t>(i));
  }
  EXPECT_FALSE(reader.next());
  reader.rewind();
  EXPECT_EQ(test::frame_checksum(reader.next()->image), expected[0]);
}

TEST_P(OwnClip, SurvivesTruncationAndFlippedBytes) {
  const std::string whole = test::bytes_of(path_);
  unsigned seed = 12345;
  const auto random = [&] { return seed = seed * 1664525u + 1013904223u; };
  for (int trial = 0; trial < 12; ++trial) {
    std::string bytes = whole;
    if (trial % 2)
      bytes.resize(random() % whole.size());
    else
      for (std::size_t i = 0; i < whole.size() / 100; ++i)
        bytes[random() % whole.size()] ^= static_cast<char>(1 + random() % 255);
    const auto read = [&] {
      VideoReaderOptions options;
      options.decoder.threads = 1;
      options.demuxer.limits.pixels = 1 << 20;
      VideoReader reader(open_bytes(std::as_bytes(std::span(bytes))), options);
      std::int64_t count = 0;
      while (reader.next() && count < 1000) ++count;
      const std::int64_t size = reader.size();
      if (size > 0) reader.at(size / 2);
    };
    try {
      read();
    } catch (const Error& error) {
      EXPECT_EQ(error.message().find('\n'), std::string::npos);
      EXPECT_NE(error.code(), ErrorCode::internal) << error.message();
    }
  }
  EXPECT_EQ(checksums(path_).size(), static_cast<std::size_t>(frames_));
}

INSTANTIATE_TEST_SUITE_P(Video, OwnClip, ::testing::Range(0, static_cast<int>(std::size(cases))),
                         [](const auto& parameter) {
                           const Case& entry = cases[parameter.param];
                           return fmt::format("{}_{}{}", entry.codec, entry.extension + 1,
                                              entry.settings.empty() ? "" : "_special");
                         });

class Reader : public ::testing::Test {
protected:
  void SetUp() override { LANNER_NEEDS_FFMPEG(); }
  TemporaryFolder folder_;
};

TEST_F(Reader, ListsWithDuplicates) {
  const auto path = make_clip(folder_ / "a.mp4", 20);
  const auto expected = checksums(path);
  VideoReader reader(open_path(path));
  const std::vector<std::int64_t> wanted{13, 2, 2, 19, 0, 13};
  const std::vector<Frame> frames = reader.at(wanted);
  ASSERT_EQ(frames.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(test::frame_checksum(frames[i].image), expected[static_cast<std::size_t>(wanted[i])]);
    EXPECT_EQ(frames[i].index, wanted[i]);
  }
  LANNER_EXPECT_ERROR(reader.at(20), ErrorCode::invalid_argument, "20 frames");
  LANNER_EXPECT_ERROR(reader.at(-1), ErrorCode::invalid_argument, "out of range");
}

TEST_F(Reader, CountingDoesNotDisturbReading) {
  const auto path = make_clip(folder_ / "a.264", 20); // No timestamps: counting decodes.
  const auto expected = checksums(path);
  VideoReader reader(open_path(path));
  reader.next();
  EXPECT_EQ(reader.size(), 20);
  const auto second = reader.next();
  ASSERT_TRUE(second);
  EXPECT_EQ(test::frame_checksum(second->image), expected[1]);
  EXPECT_EQ(second->index, 1);
}

TEST_F(Reader, TimesOfVariableRate) {
  EncoderOptions options;
  options.width = 64;
  options.height = 48;
  options.time_base = {1, 1000};
  const std::vector<std::int64_t> times{0, 40, 41, 200, 1000, 1033, 5000};
  VideoWriter writer((folder_ / "v.mp4").string(), options);
  for (const std::int64_t pts : times)
    writer.write(test::pattern(PixelFormat::rgb24, 64, 48, static_cast<int>(pts)), pts);
  writer.finish();
  VideoReader reader(open_path(folder_ / "v.mp4"));
  std::vector<double> seconds;
  while (const auto frame = reader.next()) seconds.push_back(frame->seconds());
  ASSERT_EQ(seconds.size(), times.size());
  for (std::size_t i = 0; i < times.size(); ++i)
    EXPECT_DOUBLE_EQ(seconds[i], static_cast<double>(times[i]) / 1000);
  ASSERT_EQ(reader.index()->frames.size(), times.size());
  EXPECT_DOUBLE_EQ(reader.at(3).seconds(), 0.2);
}

TEST_F(Reader, IndexTellsKeyframes) {
  EncoderOptions options;
  options.codec_options = {{"sc_threshold", "0"}}; // No keyframes but those of the gop.
  const auto path = make_clip(folder_ / "a.mp4", 20, options);
  const auto index = build_index(open_path(path));
  ASSERT_EQ(index->frames.size(), 20u);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(index->frames[i].key, i % 8 == 0) << i;
    EXPECT_TRUE(i == 0 || index->frames[i].pts > index->frames[i - 1].pts);
  }
}

TEST_F(Reader, ReadsAPipeOnlyForwards) {
  const std::string bytes = test::bytes_of(make_clip(folder_ / "a.ts", 20));
  const auto read = [&](std::uint64_t offset, std::span<std::byte> into) {
    const std::size_t count =
        offset < bytes.size() ? std::min(into.size(), bytes.size() - static_cast<std::size_t>(offset)) : 0;
    std::memcpy(into.data(), bytes.data() + offset, count);
    return count;
  };
  VideoReader reader(open_callback(read, -1, false, "camera"));
  int count = 0;
  while (reader.next()) ++count;
  EXPECT_EQ(count, 20);
  LANNER_EXPECT_ERROR(reader.size(), ErrorCode::unsupported, "camera");
}

TEST_F(Reader, ErrorsOfTheSourceArriveUnchanged) {
  const std::string bytes = test::bytes_of(make_clip(folder_ / "a.ts", 20));
  const auto read = [&](std::uint64_t offset, std::span<std::byte> into) -> std::size_t {
    check(offset + into.size() < bytes.size() / 2, ErrorCode::io, "the disk is gone at {}", offset);
    std::memcpy(into.data(), bytes.data() + offset, into.size());
    return into.size();
  };
  LANNER_EXPECT_ERROR(
      {
        VideoReader reader(open_callback(read, static_cast<std::int64_t>(bytes.size()), true));
        while (reader.next()) {
        }
      },
      ErrorCode::io, "the disk is gone");
}

TEST_F(Reader, StopsWhenCancelled) {
  const std::string bytes = test::bytes_of(make_clip(folder_ / "a.mkv", 20));
  const CancelToken cancel = CancelToken::create();
  int reads = 0;
  const auto read = [&](std::uint64_t offset, std::span<std::byte> into) {
    if (++reads == 2) cancel.cancel();
    const std::size_t count =
        std::min({into.size(), bytes.size() - static_cast<std::size_t>(offset), std::size_t{512}});
    std::memcpy(into.data(), bytes.data() + offset, count);
    return count;
  };
  VideoReaderOptions options;
  options.demuxer.cancel = cancel;
  LANNER_EXPECT_ERROR(
      VideoReader(open_callback(read, static_cast<std::int64_t>(bytes.size()), true), options),
      ErrorCode::cancelled, "");
}

// Titles reach Python as text, whatever bytes a file has there.
TEST_F(Reader, MetadataIsText) {
  std::string bytes = test::bytes_of(make_clip(folder_ / "a.mp4", 3));
  const auto place = bytes.find("VideoHandler");
  ASSERT_NE(place, std::string::npos);
  bytes.replace(place, 6, "\xff\x1b\xc3\xa9\xc0\xaf");
  const auto demuxer = open_demuxer(open_bytes(std::as_bytes(std::span(bytes))));
  EXPECT_EQ(demuxer->streams().at(0).metadata.at("handler_name"), "?\?\xc3\xa9??andler");
}

TEST_F(Reader, FramesOutliveTheReader) {
  const auto path = make_clip(folder_ / "a.mp4", 37);
  const auto expected = checksums(path);
  std::vector<Frame> held;
  {
    VideoReader reader(open_path(path));
    while (auto frame = reader.next()) held.push_back(std::move(*frame));
  }
  ASSERT_EQ(held.size(), expected.size());
  for (std::size_t i = 0; i < held.size(); ++i) EXPECT_EQ(test::frame_checksum(held[i].image), expected[i]);
}

// A container may count packets that hold no picture, or one that the decoder refuses.
TEST_F(Reader, CountsOnlyWhatDecodes) {
  for (const char* codec : {"h264", "mpeg4"}) {
    EncoderOptions options;
    options.codec = codec;
    options.b_frames = 0;
    const auto path = make_clip(folder_ / "a.mp4", 37, options);
    std::string bytes = test::bytes_of(path);
    const auto demuxer = open_demuxer(open_path(path));
    for (int i = 0; const auto packet = demuxer->next(); ++i)
      if (i >= 30)
        bytes.replace(static_cast<std::size_t>(packet->pos), packet->bytes.size(), packet->bytes.size(),
                      '\0');
    VideoReader reader(open_bytes(std::as_bytes(std::span(bytes))));
    EXPECT_EQ(reader.demuxer().streams().at(0).frames, 37);
    std::int64_t count = 0;
    while (reader.next()) ++count;
    EXPECT_EQ(count, 30) << codec;
    VideoReader other(open_bytes(std::as_bytes(std::span(bytes))));
    EXPECT_THROW(other.at(33), Error) << codec;
    EXPECT_EQ(other.at(29).index, 29) << codec;
    EXPECT_EQ(other.size(), 30) << codec;
  }
}

TEST_F(Reader, RaisesOnDamageWhenAsked) {
  std::string bytes = test::bytes_of(make_clip(folder_ / "a.mp4", 37));
  bytes.resize(bytes.size() * 2 / 3); // The header lies in front.
  VideoReaderOptions options;
  const auto count = [&] {
    VideoReader reader(open_bytes(std::as_bytes(std::span(bytes))), options);
    int frames = 0;
    while (reader.next()) ++frames;
    return frames;
  };
  EXPECT_GT(count(), 10);
  EXPECT_LT(count(), 37);
  options.decoder.raise_on_error = true;
  LANNER_EXPECT_ERROR(count(), ErrorCode::bad_data, "");
}

TEST_F(Reader, LimitsHold) {
  const auto path = make_clip(folder_ / "a.mp4", 20);
  VideoReaderOptions options;
  options.decoder.limits.pixels = 1000;
  options.decoder.raise_on_error = true;
  EXPECT_THROW(VideoReader(open_path(path), options).next(), Error);
  options = {};
  options.demuxer.limits.frames = 10;
  VideoReader counted(open_path(path), options);
  LANNER_EXPECT_ERROR(counted.size(), ErrorCode::limit_exceeded, "--limit frames=N");
  options = {};
  options.demuxer.limits.packet_bytes = 16;
  LANNER_EXPECT_ERROR(VideoReader(open_path(path), options).next(), ErrorCode::limit_exceeded,
                      "--limit packet_bytes=N");
}

// An index whose times contradict the order of decoding: numbers are those of decoding all the same.
TEST_F(Reader, TimesInAnotherOrderThanThePictures) {
  EncoderOptions settings;
  settings.b_frames = 0;
  const auto path = make_clip(folder_ / "a.mp4", 40, settings);
  const std::vector<std::uint32_t> expected = checksums(path);
  const auto index = build_index(open_path(path), {{}, -1, false});
  std::vector<PacketEntry> packets = content_of(*index)->table.packets();
  std::swap(packets[10].pts, packets[12].pts);
  for (const std::int64_t i : {10, 11, 12, 13, 14, 20}) {
    VideoReaderOptions options;
    options.cache_index = false;
    options.index = predicted_index(index->stream, index->time_base, packets, content_of(*index)->identity);
    VideoReader one(open_path(path), options), several(open_path(path), options);
    EXPECT_EQ(test::frame_checksum(one.at(i).image), expected[static_cast<std::size_t>(i)]) << i;
    const std::vector<std::int64_t> wanted{i};
    EXPECT_EQ(test::frame_checksum(several.at(wanted)[0].image), expected[static_cast<std::size_t>(i)]) << i;
  }
}

} // namespace
} // namespace lanner
