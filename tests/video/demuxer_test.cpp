// Containers: the same packets from every source, exact landings, discontinuities.

#include <lanner/decoder.h>
#include <lanner/demuxer.h>
#include <lanner/video_writer.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <thread>

#include <unistd.h>

#include "expect_error.h"
#include "source_dir.h"
#include "temporary_folder.h"
#include "video/clips.h"

namespace lanner {
namespace {

struct Kind {
  const char* codec;
  const char* extension;
  bool b_frames = true;
  bool timed = true;
  std::map<std::string, std::string> settings{};
};

const Kind kinds[] = {
    {"h264", "mp4"},
    {"h264", "mov"},
    {"hevc", "mp4", true, true, {{"x265-params", "log-level=none:keyint=8:min-keyint=8:scenecut=0"}}},
    {"h264", "mkv"},
    {"vp9", "webm", false},
    {"h264", "avi"},
    {"mpeg4", "avi"},
    {"h264", "flv"},
    {"h264", "ts"},
    {"mpeg2", "ts"},
    {"mpeg2", "mpg"},
    {"vp8", "ivf", false},
    {"av1", "ivf", false},
    {"av1", "obu", false, false},
    {"h264", "264", true, false},
    {"hevc", "265", true, false, {{"x265-params", "log-level=none:keyint=8:min-keyint=8:scenecut=0"}}},
    {"mpeg2", "m2v", true, false},
};

using Facts = std::tuple<int, std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool, std::string>;

std::vector<Packet> packets_of(Demuxer& demuxer) {
  std::vector<Packet> packets;
  while (auto packet = demuxer.next()) packets.push_back(std::move(*packet));
  return packets;
}

std::vector<Facts> facts_of(const SourcePtr& source) {
  const auto demuxer = open_demuxer(source);
  std::vector<Facts> facts;
  for (const Packet& packet : packets_of(*demuxer))
    facts.emplace_back(packet.stream, packet.pts, packet.dts, packet.duration, packet.pos, packet.key,
                       std::string(reinterpret_cast<const char*>(packet.bytes.data()), packet.bytes.size()));
  return facts;
}

ReadCallback reader_of(const std::string& bytes) {
  return [&bytes](std::uint64_t offset, std::span<std::byte> into) {
    const std::size_t begin = static_cast<std::size_t>(std::min<std::uint64_t>(offset, bytes.size()));
    const std::size_t count = std::min(into.size(), bytes.size() - begin);
    std::memcpy(into.data(), bytes.data() + begin, count);
    return count;
  };
}

/// The reading end of a pipe that a thread fills.
class Pipe {
public:
  explicit Pipe(const std::string& bytes) {
    if (::pipe(ends_) != 0) throw std::runtime_error("no pipe");
    writer_ = std::thread([end = ends_[1], &bytes] {
      for (std::size_t at = 0; at < bytes.size();) {
        const ssize_t count = ::write(end, bytes.data() + at, bytes.size() - at);
        if (count <= 0) break;
        at += static_cast<std::size_t>(count);
      }
      ::close(end);
    });
  }
  ~Pipe() {
    char rest[4096];
    while (::read(ends_[0], rest, sizeof rest) > 0) {
    }
    writer_.join();
    ::close(ends_[0]);
  }
  int end() const { return ends_[0]; }

private:
  int ends_[2];
  std::thread writer_;
};

class EveryContainer : public ::testing::TestWithParam<int> {
protected:
  void SetUp() override {
    LANNER_NEEDS_FFMPEG();
    EncoderOptions options;
    options.codec = kind().codec;
    options.codec_options = kind().settings;
    if (options.codec == "h264") options.codec_options["sc_threshold"] = "0";
    if (!kind().b_frames) options.b_frames = 0;
    try {
      path_ = test::make_clip(folder_ / fmt::format("clip.{}", kind().extension), 61, options);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      GTEST_SKIP() << error.message();
    }
  }
  static const Kind& kind() { return kinds[GetParam()]; }

  TemporaryFolder folder_;
  std::filesystem::path path_;
};

TEST_P(EveryContainer, SamePacketsFromEverySource) {
  const std::string bytes = test::bytes_of(path_);
  const auto expected = facts_of(open_path(path_));
  ASSERT_GE(expected.size(), 61u);
  EXPECT_EQ(facts_of(open_bytes(std::as_bytes(std::span(bytes)))), expected);
  EXPECT_EQ(facts_of(open_callback(reader_of(bytes), static_cast<std::int64_t>(bytes.size()), true)),
            expected);
  EXPECT_EQ(facts_of(open_callback(reader_of(bytes), -1, true)), expected) << "of unknown size";
  const Pipe pipe(bytes);
  const auto piped = facts_of(open_fd(pipe.end()));
  ASSERT_EQ(piped.size(), expected.size());
  for (std::size_t i = 0; i < piped.size(); ++i) ASSERT_EQ(piped[i], expected[i]) << "piped, packet " << i;
}

TEST_P(EveryContainer, APipeOnlyGoesForward) {
  const std::string bytes = test::bytes_of(path_);
  const auto demuxer = open_demuxer(open_callback(reader_of(bytes), -1, false, "camera"));
  LANNER_EXPECT_ERROR(demuxer->seek(demuxer->best_video(), 0), ErrorCode::unsupported, "camera");
}

/// Where the last keyframe at or before `pts` stands among `packets`; the first packet when there is none.
/// Without a pts a packet is taken to wait as long after its dts as any.
std::size_t expected_landing(const std::vector<Packet>& packets, bool timed, std::int64_t pts) {
  std::size_t best = 0;
  std::int64_t elapsed = 0, wait = 0;
  for (const Packet& packet : packets)
    if (packet.pts != no_pts && packet.dts != no_pts) wait = std::max(wait, packet.pts - packet.dts);
  for (std::size_t i = 0; i < packets.size(); ++i) {
    const Packet& packet = packets[i];
    const std::int64_t time = !timed ? elapsed : packet.pts != no_pts ? packet.pts : packet.dts + wait;
    elapsed += packet.duration;
    if (packet.key && time <= pts) best = i;
  }
  return best;
}

TEST_P(EveryContainer, SeekLandsOnTheLastKeyframe) {
  const auto demuxer = open_demuxer(open_path(path_));
  const int video = demuxer->best_video();
  const StreamInfo stream = demuxer->streams()[static_cast<std::size_t>(video)];
  const std::vector<Packet> packets = packets_of(*demuxer);
  EXPECT_EQ(stream.start_pts != no_pts, kind().timed);
  EXPECT_GE(std::count_if(packets.begin(), packets.end(), [](const auto& packet) { return packet.key; }), 7);
  std::int64_t first = 0, step = packets[0].duration;
  if (kind().timed) first = stream.start_pts;
  ASSERT_GT(step, 0);
  for (std::int64_t i = 0; i < 66; ++i) {
    const std::int64_t frame = i * 29 % 66 - 2; // Back and forth, and beyond both ends.
    const std::int64_t pts = first + frame * step + (frame % 2 ? 0 : step / 2);
    const std::size_t expected = expected_landing(packets, kind().timed, pts);
    demuxer->seek(video, pts);
    for (std::size_t k = expected; k < std::min(expected + 3, packets.size()); ++k) {
      const auto packet = demuxer->next();
      ASSERT_TRUE(packet) << pts;
      ASSERT_TRUE(std::ranges::equal(packet->bytes, packets[k].bytes)) << "pts " << pts << ", packet " << k;
      ASSERT_EQ(packet->key, packets[k].key);
      ASSERT_EQ(packet->discontinuity, k == expected);
      if (packets[k].pts != no_pts) {
        ASSERT_EQ(packet->pts, packets[k].pts) << "sought " << pts << ", packet " << k;
      }
    }
  }
  demuxer->seek(video, first);
  EXPECT_EQ(packets_of(*demuxer).size(), packets.size());
}

TEST_P(EveryContainer, AnUndamagedFileHasNoDiscontinuity) {
  const auto demuxer = open_demuxer(open_path(path_));
  for (const Packet& packet : packets_of(*demuxer)) EXPECT_FALSE(packet.discontinuity);
}

INSTANTIATE_TEST_SUITE_P(Video, EveryContainer, ::testing::Range(0, static_cast<int>(std::size(kinds))),
                         [](const auto& tested) {
                           return fmt::format("{}_{}", kinds[tested.param].codec,
                                              kinds[tested.param].extension);
                         });

// Every clip of the shared data, at times spread over it.
TEST(RealContainers, SeekLandsOnTheLastKeyframe) {
  LANNER_NEEDS_FFMPEG();
  const auto folder = test::shared_data_dir() / "video";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no shared data at " << folder;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.path().extension() == ".txt") continue;
    SCOPED_TRACE(entry.path());
    const auto demuxer = open_demuxer(open_path(entry.path()));
    const int video = demuxer->best_video();
    demuxer->select(std::span<const int>(&video, 1));
    const StreamInfo stream = demuxer->streams()[static_cast<std::size_t>(video)];
    const bool timed = stream.start_pts != no_pts;
    const std::vector<Packet> packets = packets_of(*demuxer);
    std::int64_t length = 0;
    for (const Packet& packet : packets) length += packet.duration;
    for (std::int64_t i = 0; i <= 12; ++i) {
      const std::int64_t pts = (timed ? stream.start_pts : 0) + length * (i * 5 % 13) / 12;
      const Packet& expected = packets[expected_landing(packets, timed, pts)];
      demuxer->seek(video, pts);
      const auto packet = demuxer->next();
      ASSERT_TRUE(packet) << pts;
      ASSERT_TRUE(std::ranges::equal(packet->bytes, expected.bytes)) << "pts " << pts;
      if (expected.pts != no_pts) {
        ASSERT_EQ(packet->pts, expected.pts) << "sought " << pts;
      }
    }
  }
}

class TransportStream : public ::testing::Test {
protected:
  void SetUp() override {
    LANNER_NEEDS_FFMPEG();
    EncoderOptions options;
    options.bit_rate = 2'000'000;
    bytes_ = test::bytes_of(test::make_clip(folder_ / "a.ts", 40, options));
    const auto demuxer = open_demuxer(open_bytes(std::as_bytes(std::span(bytes_))));
    packets_ = packets_of(*demuxer);
  }

  /// The first of the 188 bytes after `from` that carry the video's payload.
  std::size_t video_unit(std::size_t from) const {
    for (std::size_t at = (from + 187) / 188 * 188; at < bytes_.size(); at += 188)
      if (byte(at, 1) % 32 == 1 && byte(at, 2) == 0 && byte(at, 3) & 0x10) return at;
    ADD_FAILURE() << "no such unit";
    return 0;
  }
  /// The first packet behind the tenth that begins with an adaptation field.
  std::size_t adapted() const {
    std::size_t i = 11;
    while (i < packets_.size() && !(byte(static_cast<std::size_t>(packets_[i].pos), 3) & 0x20)) ++i;
    return i;
  }
  unsigned byte(std::size_t unit, std::size_t i) const {
    return static_cast<unsigned char>(bytes_.at(unit + i));
  }

  /// Ordinals of the packets that say so.
  std::vector<std::size_t> discontinuities(const std::string& bytes) {
    const auto demuxer = open_demuxer(open_bytes(std::as_bytes(std::span(bytes))));
    std::vector<std::size_t> found;
    const std::vector<Packet> packets = packets_of(*demuxer);
    for (std::size_t i = 0; i < packets.size(); ++i)
      if (packets[i].discontinuity) found.push_back(i);
    return found;
  }

  TemporaryFolder folder_;
  std::string bytes_;
  std::vector<Packet> packets_;
};

TEST_F(TransportStream, JumpOfAContinuityCounter) {
  const auto begin = static_cast<std::size_t>(packets_[12].pos);
  ASSERT_GT(packets_[13].pos - packets_[12].pos, 4 * 188);
  std::string bytes = bytes_;
  bytes.erase(video_unit(begin + 188), 188);
  EXPECT_EQ(discontinuities(bytes), std::vector<std::size_t>{13});
}

TEST_F(TransportStream, DiscontinuityIndicator) {
  std::string bytes = bytes_;
  bytes[static_cast<std::size_t>(packets_[adapted()].pos) + 5] |= static_cast<char>(0x80);
  EXPECT_EQ(discontinuities(bytes), std::vector<std::size_t>{adapted()});
}

TEST_F(TransportStream, WithTimeCodesInFront) {
  std::string bytes;
  for (std::size_t at = 0; at < bytes_.size(); at += 188)
    bytes += std::string(4, '\1') + bytes_.substr(at, 188);
  EXPECT_TRUE(discontinuities(bytes).empty());
  const std::size_t unit = static_cast<std::size_t>(packets_[adapted()].pos) / 188 * 192 + 4;
  bytes[unit + 5] |= static_cast<char>(0x80);
  EXPECT_EQ(discontinuities(bytes), std::vector<std::size_t>{adapted()});
}

TEST_F(TransportStream, TwoJoinedFiles) {
  EXPECT_EQ(discontinuities(bytes_ + bytes_), std::vector<std::size_t>{40});
}

TEST_F(TransportStream, RepeatedUnitsAreNone) {
  std::string bytes = bytes_;
  const std::size_t unit = video_unit(static_cast<std::size_t>(packets_[9].pos) + 188);
  bytes.insert(unit, bytes.substr(unit, 188));
  EXPECT_TRUE(discontinuities(bytes).empty());
}

TEST_F(TransportStream, AGapOfTimes) {
  // A container whose clock runs through may leave pictures out for as long as it likes.
  for (const auto& [name, expected] : {std::pair{"gap.ts", 1u}, {"gap.mp4", 0u}}) {
    EncoderOptions options;
    options.width = 64;
    options.height = 48;
    options.b_frames = 0;
    VideoWriter writer((folder_ / name).string(), options);
    for (int i = 0; i < 20; ++i)
      writer.write(test::pattern(PixelFormat::rgb24, 64, 48, i), i < 10 ? i : i + 25 * 20);
    writer.finish();
    const std::vector<std::size_t> found = discontinuities(test::bytes_of(folder_ / name));
    EXPECT_EQ(found.size(), expected) << name;
    if (!found.empty()) {
      EXPECT_EQ(found[0], 10u);
    }
  }
}

class Seeking : public ::testing::Test {
protected:
  void SetUp() override { LANNER_NEEDS_FFMPEG(); }
  TemporaryFolder folder_;
};

TEST_F(Seeking, WithoutAnyKeyframeBefore) {
  const auto path = test::make_clip(folder_ / "a.mp4", 20);
  const auto demuxer = open_demuxer(open_path(path));
  const auto first = demuxer->next();
  demuxer->seek(0, first->pts - 100'000);
  const auto again = demuxer->next();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->pts, first->pts);
  EXPECT_EQ(again->pos, first->pos);
}

TEST_F(Seeking, WrongRequests) {
  const auto demuxer = open_demuxer(open_path(test::make_clip(folder_ / "a.mp4", 8)));
  LANNER_EXPECT_ERROR(demuxer->seek(1, 0), ErrorCode::invalid_argument, "no stream 1");
  LANNER_EXPECT_ERROR(demuxer->seek(0, no_pts), ErrorCode::invalid_argument, "no_pts");
  LANNER_EXPECT_ERROR(demuxer->seek_to_byte(0), ErrorCode::unsupported, "entered at a byte");
}

TEST_F(Seeking, IndexesOfDecodingTimeDoNotMislead) {
  EncoderOptions options;
  options.codec_options = {{"x264-params", "open-gop=1:keyint=8:min-keyint=8:bframes=3:scenecut=0"}};
  const auto demuxer = open_demuxer(open_path(test::make_clip(folder_ / "a.mp4", 60, options)));
  std::vector<std::int64_t> keys;
  const std::vector<Packet> packets = packets_of(*demuxer);
  for (const Packet& packet : packets)
    if (packet.key) keys.push_back(packet.pts);
  ASSERT_GT(keys.size(), 5u);
  for (std::size_t i = 1; i < keys.size(); ++i) {
    demuxer->seek(0, keys[i] - 1);
    EXPECT_EQ(demuxer->next()->pts, keys[i - 1]);
    demuxer->seek(0, keys[i]);
    EXPECT_EQ(demuxer->next()->pts, keys[i]);
  }
}

TEST_F(Seeking, SelectionHoldsAcross) {
  const auto demuxer = open_demuxer(open_path(test::make_clip(folder_ / "a.mkv", 20)));
  demuxer->select({});
  demuxer->seek(0, 0);
  EXPECT_FALSE(demuxer->next());
  const int video = 0;
  demuxer->select(std::span<const int>(&video, 1));
  demuxer->seek(0, 0);
  EXPECT_EQ(packets_of(*demuxer).size(), 20u);
}

} // namespace
} // namespace lanner
