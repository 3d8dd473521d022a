// Clips in all shapes that containers and codecs give them: frames by number, side by side and ahead are
// those of one decoder in order.

#include <lanner/log.h>
#include <lanner/video_reader.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <set>

#include "source_dir.h"
#include "temporary_folder.h"
#include "video/clips.h"

namespace lanner {
namespace {

struct Seen {
  std::uint32_t sum;
  std::int64_t pts;
  friend bool operator==(const Seen&, const Seen&) = default;
};
std::ostream& operator<<(std::ostream& out, const Seen& seen) {
  return out << fmt::format("{:08x} at {}", seen.sum, seen.pts);
}

Seen seen(const Frame& frame) {
  return {test::frame_checksum(frame.image), frame.pts};
}

VideoReaderOptions with_decoders(int decoders) {
  VideoReaderOptions options;
  options.decoders = decoders;
  options.cache_index = false;
  return options;
}

std::vector<Seen> in_order(const std::filesystem::path& path) {
  VideoReader reader(open_path(path), with_decoders(1));
  reader.size(); // Times that the packets lack come from the index.
  std::vector<Seen> frames;
  while (const auto frame = reader.next()) frames.push_back(seen(*frame));
  return frames;
}

void expect_by_number(const std::filesystem::path& path, const std::vector<Seen>& expected,
                      const std::vector<std::int64_t>& wanted, int decoders) {
  VideoReader reader(open_path(path), with_decoders(decoders));
  ASSERT_EQ(reader.size(), static_cast<std::int64_t>(expected.size()));
  for (int round = 0; round < 2; ++round) { // The second by decoders that are kept.
    const std::vector<Frame> frames = reader.at(wanted);
    ASSERT_EQ(frames.size(), wanted.size());
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      ASSERT_EQ(frames[k].index, wanted[k]);
      ASSERT_EQ(seen(frames[k]), expected[static_cast<std::size_t>(wanted[k])])
          << "frame " << wanted[k] << " of " << decoders << " decoders";
    }
  }
}

template<typename Reader>
void expect_in_order(Reader& reader, const std::vector<Seen>& expected, std::size_t from = 0) {
  for (std::size_t i = from; i < expected.size(); ++i) {
    const std::optional<Frame> frame = reader.next();
    ASSERT_TRUE(frame) << "frame " << i;
    ASSERT_EQ(frame->index, static_cast<std::int64_t>(i));
    ASSERT_EQ(seen(*frame), expected[i]) << "frame " << i;
  }
  ASSERT_FALSE(reader.next());
}

std::vector<std::int64_t> shuffled(std::size_t frames, std::size_t count) {
  std::mt19937 random(11);
  std::vector<std::int64_t> indices(count);
  for (std::int64_t& i : indices)
    i = std::uniform_int_distribution<std::int64_t>(0, static_cast<std::int64_t>(frames) - 1)(random);
  return indices;
}

struct ShapeCase {
  const char* name;
  const char* file;
  /// Arguments of the program ffmpeg between source and file; `;` parts two runs, the second reads the first
  /// one's file.
  const char* arguments;
};

#define X264 "-c:v libx264 -preset veryfast -x264-params "
#define X265 "-c:v libx265 -preset ultrafast -x265-params log-level=none:"
constexpr ShapeCase cases[] = {
    {"pyramid_mp4", "a.mp4", X264 "keyint=12:min-keyint=12:scenecut=0:bframes=5:b-pyramid=normal:b-adapt=0"},
    {"open_mp4", "a.mp4", X264 "open-gop=1:keyint=10:min-keyint=10:bframes=3:b-adapt=0:scenecut=0"},
    {"open_mkv", "a.mkv", X264 "open-gop=1:keyint=10:min-keyint=10:bframes=3:b-adapt=0:scenecut=0"},
    {"open_ts", "a.ts", X264 "open-gop=1:keyint=10:min-keyint=10:bframes=3:b-adapt=0:scenecut=0"},
    {"refresh_mp4", "a.mp4", X264 "intra-refresh=1:keyint=12:bframes=0:scenecut=0"},
    {"references_264", "a.264", X264 "ref=5:keyint=15:min-keyint=15:scenecut=0:bframes=2"},
    {"fields_mp4", "a.mp4", "-flags +ilme+ildct " X264 "tff=1:keyint=12:min-keyint=12:scenecut=0"},
    {"hevc_open_mp4", "a.mp4", X265 "open-gop=1:keyint=10:min-keyint=10:bframes=4:b-adapt=0:scenecut=0"},
    {"hevc_open_mkv", "a.mkv", X265 "open-gop=1:keyint=10:min-keyint=10:bframes=4:b-adapt=0:scenecut=0"},
    {"hevc_open_265", "a.265", X265 "open-gop=1:keyint=10:min-keyint=10:bframes=4:b-adapt=0:scenecut=0"},
    {"hevc_closed_ts", "a.ts", X265 "open-gop=0:keyint=10:min-keyint=10:bframes=4:scenecut=0"},
    {"hevc_layers_mp4", "a.mp4",
     X265 "temporal-layers=1:open-gop=0:keyint=12:min-keyint=12:bframes=3:b-adapt=0:scenecut=0"},
    {"variable_rate_mp4", "a.mp4",
     "-vf \"select='lt(n,20)+not(mod(n,3))'\" -fps_mode vfr " X264 "keyint=8:min-keyint=8"},
    {"edit_list_mp4", "b.mp4", X264 "keyint=12:min-keyint=12:scenecut=0 a.mp4 ; -ss 0.7 -i a.mp4 -c copy"},
    {"start_offset_ts", "a.ts", X264 "keyint=12:min-keyint=12:scenecut=0 -output_ts_offset 95000"},
    {"fragments_mp4", "a.mp4", X264 "keyint=12:min-keyint=12:scenecut=0 -movflags frag_keyframe+empty_moov"},
    {"no_cues_mkv", "b.mkv", X264 "keyint=12:min-keyint=12:scenecut=0 -f matroska - > b.mkv"},
    {"avi", "a.avi", X264 "keyint=12:min-keyint=12:scenecut=0:bframes=2"},
    {"flv", "a.flv", X264 "keyint=12:min-keyint=12:scenecut=0:bframes=2"},
    {"program_stream_mpg", "a.mpg", "-c:v mpeg2video -g 9 -bf 2 -b:v 800k"},
    {"closed_mpg", "a.mpg", "-c:v mpeg2video -g 9 -bf 2 -b:v 800k -flags +cgop -sc_threshold 1000000000"},
    {"mpeg2_fields_ts", "a.ts", "-c:v mpeg2video -g 9 -bf 2 -b:v 800k -flags +ilme+ildct"},
    {"mpeg1_mpg", "a.mpg", "-c:v mpeg1video -g 9 -bf 2 -b:v 800k"},
    {"mpeg4_avi", "a.avi", "-c:v mpeg4 -g 10 -bf 2"},
    {"mpeg4_mp4", "a.mp4", "-c:v mpeg4 -g 10 -bf 2"},
    {"packed_avi", "a.avi", "-c:v libxvid -g 15 -bf 2"},
    {"packed_mkv", "b.mkv", "-c:v libxvid -g 15 -bf 2 a.avi ; -fflags +genpts -i a.avi -c copy"},
    {"packed_mp4", "b.mp4", "-c:v libxvid -g 15 -bf 1 a.avi ; -fflags +genpts -i a.avi -c copy"},
    {"packed_once_avi", "b.avi",
     "-c:v libxvid -g 15 -bf 2 a.avi ; -i a.avi -bsf:v mpeg4_unpack_bframes -c copy"},
    {"long_frames_mp4", "a.mp4", "-vf settb=1,setpts=N*3600 " X264 "keyint=12:min-keyint=12:scenecut=0"},
    {"vp8_webm", "a.webm", "-c:v libvpx -g 12 -auto-alt-ref 1 -lag-in-frames 16 -b:v 300k"},
    {"vp9_ivf", "a.ivf", "-c:v libvpx-vp9 -g 12 -auto-alt-ref 1 -lag-in-frames 16 -b:v 300k"},
    {"av1_ivf", "a.ivf", "-c:v libaom-av1 -cpu-used 8 -g 12 -usage realtime -b:v 300k"},
    {"av1_obu", "a.obu", "-c:v libaom-av1 -cpu-used 8 -g 12 -usage realtime -b:v 300k"},
    {"av1_forward_mkv", "a.mkv", "-c:v libsvtav1 -preset 10 -g 16 -svtav1-params irefresh-type=1"},
    {"prores_mov", "a.mov", "-c:v prores_ks"},
    {"ffv1_mkv", "a.mkv", "-c:v ffv1 -g 7 -context 1"},
    {"wmv1_asf", "a.asf", "-c:v wmv1 -g 8"},
    {"wmv2_avi", "a.avi", "-c:v wmv2 -g 8"},
    {"msmpeg4v2_avi", "a.avi", "-c:v msmpeg4v2 -g 8"},
    {"msmpeg4v3_avi", "a.avi", "-c:v msmpeg4 -g 8"},
    {"sorenson_flv", "a.flv", "-c:v flv -g 8"},
    {"h263_mkv", "a.mkv", "-c:v h263 -g 8"},
    {"theora_ogv", "a.ogv", "-c:v libtheora -g 8"},
    {"unknown_avi", "a.avi", "-c:v svq1 -g 8 -pix_fmt yuv410p"},
};

class Shape : public ::testing::TestWithParam<ShapeCase> {
protected:
  void SetUp() override {
    LANNER_NEEDS_FFMPEG();
    const ShapeCase& shape = GetParam();
    const std::string arguments = shape.arguments;
    const auto second = arguments.find(" ; ");
    std::string command = "cd " + test::quoted(folder_.path()) +
                          " && ffmpeg -v error -f lavfi -i testsrc2=size=128x96:rate=25 -frames:v 61 "
                          "-pix_fmt yuv420p -threads 1 " +
                          arguments.substr(0, second);
    if (second != std::string::npos) command += " && ffmpeg -v error " + arguments.substr(second + 3);
    if (arguments.find(" > ") == std::string::npos) command += std::string(" ") + shape.file;
    path_ = folder_ / shape.file;
    if (!test::output_of(command) || !std::filesystem::exists(path_))
      GTEST_SKIP() << "the program ffmpeg is missing or cannot do: " << command;
    expected_ = in_order(path_);
    ASSERT_GT(expected_.size(), 20u);
  }

  TemporaryFolder folder_;
  std::filesystem::path path_;
  std::vector<Seen> expected_;
};

// Without an index frames come as the decoder gives them: the index lists the same.
TEST_P(Shape, IndexIsTheOrderOfDecoding) {
  VideoReader decoded(open_path(path_), with_decoders(1));
  const auto index = VideoReader(open_path(path_), with_decoders(1)).index();
  ASSERT_EQ(index->frames.size(), expected_.size());
  for (std::size_t i = 0; i < expected_.size(); ++i) {
    const std::optional<Frame> frame = decoded.next();
    ASSERT_TRUE(frame) << "frame " << i;
    EXPECT_EQ(seen(*frame), expected_[i]) << "frame " << i;
    EXPECT_EQ(index->frames[i].pts, frame->pts) << "frame " << i;
  }
  EXPECT_FALSE(decoded.next());
}

// Every place to start is found by a seek, and what comes from there is whole.
TEST_P(Shape, ByNumber) {
  std::atomic<int> detours = 0;
  set_log_callback([&](LogLevel, std::string_view message) {
    const auto has = [&](std::string_view text) { return message.find(text) != std::string_view::npos; };
    if (has("come out whole only from") || has("no seek finds")) ++detours;
  });
  std::vector<std::int64_t> all(expected_.size());
  std::iota(all.begin(), all.end(), 0);
  std::shuffle(all.begin(), all.end(), std::mt19937(5));
  for (const int decoders : {1, 3}) {
    expect_by_number(path_, expected_, all, decoders);
    expect_by_number(path_, expected_, shuffled(expected_.size(), 6), decoders);
  }
  set_log_callback({});
  EXPECT_EQ(detours, 0);
}

TEST_P(Shape, OneByOneAndOn) {
  VideoReader reader(open_path(path_), with_decoders(1));
  for (const std::int64_t i : shuffled(expected_.size(), 12)) {
    ASSERT_EQ(seen(reader.at(i)), expected_[static_cast<std::size_t>(i)]) << "frame " << i;
    if (i + 1 >= reader.size()) continue;
    const auto following = reader.next();
    ASSERT_TRUE(following);
    ASSERT_EQ(seen(*following), expected_[static_cast<std::size_t>(i + 1)]) << "frame after " << i;
  }
}

TEST_P(Shape, SideBySide) {
  for (const int decoders : {1, 2, 5}) {
    SCOPED_TRACE(decoders);
    ParallelDecoder decoder(open_path(path_), with_decoders(decoders));
    if (decoder.size() < 0) continue; // One decoder fills in times of its own.
    EXPECT_EQ(decoder.size(), static_cast<std::int64_t>(expected_.size()));
    expect_in_order(decoder, expected_);
  }
}

TEST_P(Shape, Ahead) {
  for (const int decoders : {1, 2}) {
    SCOPED_TRACE(decoders);
    VideoReaderOptions options = with_decoders(decoders);
    options.prefetch = 4;
    VideoReader reader(open_path(path_), options);
    reader.size();
    ASSERT_EQ(seen(reader.next().value()), expected_[0]);
    ASSERT_EQ(seen(reader.at(17)), expected_[17]);
    expect_in_order(reader, expected_, 18);
    reader.rewind();
    expect_in_order(reader, expected_);
  }
}

INSTANTIATE_TEST_SUITE_P(Video, Shape, ::testing::ValuesIn(cases),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

// --- Clips of the shared data ---

std::vector<std::string> shared_clips() {
  std::vector<std::string> clips;
  const auto folder = test::shared_data_dir() / "video";
  std::error_code missing;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, missing))
    if (entry.is_regular_file() && entry.path().extension() != ".txt")
      clips.push_back(std::filesystem::relative(entry.path(), folder).string());
  std::sort(clips.begin(), clips.end());
  return clips;
}

class SharedClip : public ::testing::TestWithParam<std::string> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SharedClip);

TEST_P(SharedClip, TwoHundredFramesAndAllSideBySide) {
  LANNER_NEEDS_FFMPEG();
  const auto path = test::shared_data_dir() / "video" / GetParam();
  const std::vector<Seen> expected = in_order(path);
  ASSERT_FALSE(expected.empty());
  const std::size_t probes = expected.size() > 50 && GetParam().find("1080") != std::string::npos ? 40 : 200;
  expect_by_number(path, expected, shuffled(expected.size(), probes), 2);
  for (const int decoders : {1, 2, 5}) {
    SCOPED_TRACE(decoders);
    VideoReaderOptions options = with_decoders(decoders);
    options.prefetch = 8;
    VideoReader reader(open_path(path), options);
    reader.size();
    expect_in_order(reader, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Video, SharedClip, ::testing::ValuesIn(shared_clips()), [](const auto& parameter) {
  std::string name = parameter.param;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
});

} // namespace
} // namespace lanner
