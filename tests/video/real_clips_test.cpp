// Every clip of the shared data against the programs ffmpeg and ffprobe of the same FFmpeg.

#include <lanner/encoder.h>
#include <lanner/video_reader.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "source_dir.h"
#include "video/clips.h"

namespace lanner {
namespace {

constexpr const char* clips[] = {"jvt/BA1_Sony_D.jsv",
                                 "jvt/BANM_MW_D.264",
                                 "jvt/BA_MW_D.264",
                                 "jvt/BA_MW_D_IDR_LOST.264",
                                 "jvt/CI_MW_D.264",
                                 "jvt/Error_I_P.264",
                                 "jvt/MIDR_MW_D.264",
                                 "jvt/NRF_MW_E.264",
                                 "jvt/SVA_BA2_D.264",
                                 "jvt/SVA_Base_B.264",
                                 "jvt/SVA_CL1_E.264",
                                 "jvt/SVA_NL2_E.264",
                                 "jvt/VID_1920x1080_cabac_temporal_direct.264",
                                 "torchcodec/av1_video.mkv",
                                 "torchcodec/bt601_full_range.mp4",
                                 "torchcodec/bt601_limited_range.mp4",
                                 "torchcodec/bt709_full_range.mp4",
                                 "torchcodec/discard_first_keyframe.mp4",
                                 "torchcodec/h264_10bits.mp4",
                                 "torchcodec/h265_10bits.mp4",
                                 "torchcodec/nasa_13013.mp4",
                                 "torchcodec/nasa_13013_rotated.mp4",
                                 "torchcodec/test_non_zero_start.mp4",
                                 "torchcodec/testsrc2.mp4",
                                 "torchcodec/testsrc2_444_8bit_hevc.mp4",
                                 "torchcodec/testsrc2_h265.mp4",
                                 "torchcodec/testsrc2_odd_height_and_width_vp9.mp4",
                                 "torchcodec/testsrc2_odd_width_mpeg2.mp4",
                                 "torchcodec/testsrc2_vp8.webm",
                                 "torchcodec/testsrc2_vp9.webm",
                                 "vali/pts_test_video.mkv",
                                 "vali/test.mp4",
                                 "vali/test_hevc10.mkv",
                                 "vali/test_mpeg4.mpg",
                                 "vali/test_res_change.h264",
                                 "vali/test_rot_90_deg.mp4"};

class RealClip : public ::testing::TestWithParam<const char*> {
protected:
  void SetUp() override {
    LANNER_NEEDS_FFMPEG();
    path_ = test::shared_data_dir() / "video" / GetParam();
    if (!std::filesystem::exists(path_))
      GTEST_SKIP() << "no shared data at " << path_.parent_path().parent_path();
  }
  std::filesystem::path path_;
};

bool same_ffmpeg_program() {
  static const std::string first = test::output_of("ffmpeg -version && ffprobe -version").value_or("");
  return first.find("ffmpeg version " + video_support().version) != std::string::npos;
}

std::vector<std::string> checksums_by_ffmpeg(const std::filesystem::path& path, int stream) {
  const auto text = test::output_of(fmt::format(
      "ffmpeg -v error -noautorotate -i {} -map 0:{} -fps_mode passthrough -noautoscale -f framecrc -",
      test::quoted(path), stream));
  std::vector<std::string> sums;
  for (const std::string& line : test::lines_of(text.value_or("")))
    if (line[0] != '#') sums.push_back(line.substr(line.find("0x"), 10));
  return sums;
}

std::vector<std::string> times_by_ffprobe(const std::filesystem::path& path, int stream) {
  const auto text = test::output_of(fmt::format("ffprobe -v error -select_streams {} -show_entries "
                                                "frame=best_effort_timestamp -of default=nk=1:nw=1 {}",
                                                stream, test::quoted(path)));
  return test::lines_of(text.value_or(""));
}

TEST_P(RealClip, EqualsTheProgram) {
  if (!same_ffmpeg_program())
    GTEST_SKIP() << "programs ffmpeg and ffprobe " << video_support().version << " are not installed";
  VideoReaderOptions options;
  options.rotate = false; // As -noautorotate.
  VideoReader reader(open_path(path_), options);
  const auto sums = checksums_by_ffmpeg(path_, reader.stream().index);
  const auto times = times_by_ffprobe(path_, reader.stream().index);
  ASSERT_FALSE(sums.empty());
  std::size_t count = 0;
  while (const auto frame = reader.next()) {
    ASSERT_LT(count, sums.size());
    ASSERT_LT(count, times.size());
    ASSERT_EQ(fmt::format("0x{:08x}", test::frame_checksum(frame->image)), sums[count]) << "frame " << count;
    ASSERT_EQ(frame->pts == no_pts ? "N/A" : fmt::format("{}", frame->pts), times[count])
        << "frame " << count;
    ASSERT_EQ(frame->index, static_cast<std::int64_t>(count++));
  }
  EXPECT_EQ(count, sums.size());
  EXPECT_EQ(reader.size(), static_cast<std::int64_t>(count));
}

TEST_P(RealClip, DescribedAsByTheProgram) {
  if (!same_ffmpeg_program())
    GTEST_SKIP() << "programs ffmpeg and ffprobe " << video_support().version << " are not installed";
  const auto demuxer = open_demuxer(open_path(path_));
  const StreamInfo& stream = demuxer->streams().at(static_cast<std::size_t>(demuxer->best_video()));
  const auto text = test::output_of(
      fmt::format("ffprobe -v error -select_streams {} -show_entries stream=codec_name,width,height,"
                  "sample_aspect_ratio,pix_fmt,time_base,avg_frame_rate,start_pts,nb_frames,field_order"
                  ":stream_side_data=rotation -of default=nw=1 {}",
                  stream.index, test::quoted(path_)));
  std::map<std::string, std::string> theirs;
  for (const std::string& line : test::lines_of(text.value_or("")))
    theirs.emplace(line.substr(0, line.find('=')), line.substr(line.find('=') + 1));
  ASSERT_FALSE(theirs.empty());
  EXPECT_EQ(stream.codec, theirs["codec_name"]);
  EXPECT_EQ(fmt::format("{}x{}", stream.width, stream.height), theirs["width"] + "x" + theirs["height"]);
  EXPECT_EQ(stream.native_format, theirs["pix_fmt"]);
  EXPECT_EQ(fmt::format("{}/{}", stream.time_base.num, stream.time_base.den), theirs["time_base"]);
  EXPECT_EQ(stream.start_pts == no_pts ? "N/A" : std::to_string(stream.start_pts), theirs["start_pts"]);
  EXPECT_EQ(stream.frames ? std::to_string(stream.frames) : "N/A", theirs["nb_frames"]);
  if (theirs["avg_frame_rate"] != "0/0") {
    EXPECT_EQ(fmt::format("{}/{}", stream.average_rate.num, stream.average_rate.den),
              theirs["avg_frame_rate"]);
  }
  const std::string aspect = theirs.count("sample_aspect_ratio") ? theirs["sample_aspect_ratio"] : "N/A";
  EXPECT_EQ(fmt::format("{}:{}", stream.sample_aspect.num, stream.sample_aspect.den),
            aspect == "N/A" || aspect == "0:1" ? "1:1" : aspect);
  const int turned = theirs.count("rotation") ? std::stoi(theirs["rotation"]) : 0; // Counter-clockwise.
  EXPECT_EQ(stream.rotation, (360 - turned) % 360);
  const std::string& fields = theirs["field_order"];
  EXPECT_EQ(stream.interlaced, fields != "progressive" && fields != "unknown");
  const auto decoder = create_decoder(stream);
  while (const auto packet = demuxer->next()) {
    if (packet->stream != stream.index) continue;
    decoder->send(&*packet);
    const auto frame = decoder->receive();
    if (!frame) continue;
    EXPECT_EQ(frame->image.width, stream.width);
    EXPECT_EQ(frame->image.height, stream.height);
    EXPECT_EQ(frame->rotation, stream.rotation);
    EXPECT_EQ(frame->sample_aspect, stream.sample_aspect);
    break;
  }
}

TEST_P(RealClip, RandomAccessGivesTheSameBytes) {
  VideoReader linear(open_path(path_));
  std::vector<std::pair<std::uint32_t, std::int64_t>> expected;
  while (const auto frame = linear.next())
    expected.emplace_back(test::frame_checksum(frame->image), frame->pts);
  VideoReader reader(open_path(path_));
  ASSERT_EQ(reader.size(), static_cast<std::int64_t>(expected.size()));
  std::mt19937 random(7);
  const int probes = reader.stream().width > 1000 ? 12 : 40;
  for (int probe = 0; probe < probes; ++probe) {
    const std::int64_t i = std::uniform_int_distribution<std::int64_t>(0, reader.size() - 1)(random);
    const Frame frame = reader.at(i);
    const auto& [sum, pts] = expected[static_cast<std::size_t>(i)];
    ASSERT_EQ(test::frame_checksum(frame.image), sum) << "frame " << i;
    ASSERT_EQ(frame.pts, pts) << "frame " << i;
    ASSERT_EQ(frame.index, i);
    if (i + 1 < reader.size() && probe % 3 == 0) {
      const auto following = reader.next();
      ASSERT_TRUE(following);
      ASSERT_EQ(test::frame_checksum(following->image), expected[static_cast<std::size_t>(i + 1)].first)
          << "frame after " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Video, RealClip, ::testing::ValuesIn(clips), [](const auto& parameter) {
  std::string name = parameter.param;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
});

TEST(RealClips, NoneIsLeftOut) {
  const auto folder = test::shared_data_dir() / "video";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no shared data at " << folder;
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().extension() != ".txt")
      found.insert(std::filesystem::relative(entry.path(), folder).string());
  EXPECT_EQ(found, std::set<std::string>(std::begin(clips), std::end(clips)));
}

TEST(RealClips, DigestsOfTheConformanceStreams) {
  LANNER_NEEDS_FFMPEG();
  const auto folder = test::shared_data_dir() / "video/jvt";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no shared data at " << folder;
  int streams = 0;
  for (const std::string& line : test::lines_of(test::bytes_of(folder / "md5.txt"))) {
    const std::string digest = line.substr(0, 32), name = line.substr(line.find_last_of(' ') + 1);
    VideoReader reader(open_path(folder / name));
    EXPECT_TRUE(reader.decoder_description().starts_with("ffmpeg h264")) << reader.decoder_description();
    test::Md5 md5;
    while (const auto frame = reader.next()) {
      ASSERT_EQ(frame->image.format, PixelFormat::yuv420p);
      md5.update(frame->image);
    }
    EXPECT_EQ(md5.hex(), digest) << name;
    ++streams;
  }
  EXPECT_EQ(streams, 10);
}

} // namespace
} // namespace lanner
