// How many pictures may be in flight: as many as have room, at least one.

#include "video/read/frame_budget.h"

#include <lanner/video_reader.h>

#include "expect_error.h"
#include "temporary_folder.h"
#include "video/clips.h"
#include "video/read/span_scheduler.h"

namespace lanner {
namespace {

StreamInfo stream_of(std::int32_t width, std::int32_t height, PixelFormat format) {
  StreamInfo stream;
  stream.kind = "video";
  stream.codec = "h264";
  stream.width = width;
  stream.height = height;
  stream.format = format;
  return stream;
}

TEST(FrameBudget, PictureBytes) {
  EXPECT_EQ(picture_bytes(stream_of(64, 48, PixelFormat::yuv420p)), 64u * 48 * 3 / 2);
  EXPECT_EQ(picture_bytes(stream_of(64, 48, PixelFormat::nv12)), 64u * 48 * 3 / 2);
  EXPECT_EQ(picture_bytes(stream_of(64, 48, PixelFormat::yuv422p10)), 64u * 48 * 4);
  EXPECT_EQ(picture_bytes(stream_of(64, 48, PixelFormat::bgra32)), 64u * 48 * 4);
  EXPECT_EQ(picture_bytes(stream_of(16000, 16000, PixelFormat::rgb48)), 16000ull * 16000 * 6);
  EXPECT_EQ(picture_bytes(stream_of(0, -5, PixelFormat::yuv420p)), 0u);
}

TEST(FrameBudget, AtLeastOneFits) {
  EXPECT_EQ(fitting(1000, 100, 16), 10);
  EXPECT_EQ(fitting(1000, 100, 4), 4);
  EXPECT_EQ(fitting(1000, 5000, 4), 1);
  EXPECT_EQ(fitting(0, 5000, 4), 1);
  EXPECT_EQ(fitting(1000, 0, 4), 4) << "a size that nobody knows";
  Limits limits;
  limits.total_bytes = 600 << 20;
  EXPECT_EQ(budget_of_frames(limits), 100u << 20);
}

TEST(FrameBudget, FewerDecodersOfLargePictures) {
  VideoReaderOptions options;
  options.decoder.threads = 2;
  options.decoder.limits.total_bytes = 6ull << 30;
  WorkSize work{64, 10'000, true};
  options.decoders = 8; // Of 2 threads, and 5 pictures to refer to: 56 pictures.
  work.picture = 3 << 20;
  EXPECT_EQ(choose_workers(options, work).decoders, 8);
  work.picture = 100 << 20;
  EXPECT_EQ(choose_workers(options, work).decoders, 4) << "30 pictures have room in half of the limit";
  work.picture = 1 << 30;
  EXPECT_EQ(choose_workers(options, work).decoders, 1);
}

TEST(FrameBudget, FewerCodecThreadsOfLargePictures) {
  LANNER_NEEDS_FFMPEG();
  DecoderOptions options;
  options.limits.total_bytes = 1ull << 30;
  const auto threads = [&](std::int32_t side) {
    return create_decoder(stream_of(side, side, PixelFormat::yuv420p), options)->description();
  };
  options.threads = 8;
  EXPECT_EQ(threads(1024), "ffmpeg h264, 8 threads");
  EXPECT_EQ(threads(8192), "ffmpeg h264, 5 threads");
  EXPECT_EQ(threads(12288), "ffmpeg h264, 2 threads");
  options.threads = 0;
  EXPECT_EQ(threads(12288), "ffmpeg h264, 1 thread");
}

class FramesInUse : public ::testing::Test {
protected:
  void SetUp() override {
    LANNER_NEEDS_FFMPEG();
    EncoderOptions options;
    options.width = 640;
    options.height = 480;
    clip_ = test::make_clip(folder_ / "a.mp4", 60, options);
    options_.decoder.threads = 1;
    options_.decoders = 1;
    options_.decoder.limits.total_bytes = 20ull * 640 * 480 * 2; // Of 60 frames of 640x480 and half of that.
  }
  TemporaryFolder folder_;
  std::filesystem::path clip_;
  VideoReaderOptions options_;
};

TEST_F(FramesInUse, CountInTheLimit) {
  for (const bool converted : {false, true}) {
    if (converted) options_.format = PixelFormat::yuv422p;
    VideoReader reader(open_path(clip_), options_);
    int count = 0;
    while (reader.next()) ++count;
    EXPECT_EQ(count, 60) << "those that were let go of do not count";
    std::vector<std::int64_t> all(60), some{0, 10, 20};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
    LANNER_EXPECT_ERROR(reader.at(all), ErrorCode::limit_exceeded, "raise it with --limit total_bytes=N");
    EXPECT_EQ(reader.at(some).size(), 3u) << "the reader goes on";
  }
}

TEST_F(FramesInUse, OnePictureMayBeTooMuch) {
  options_.decoder.limits.total_bytes = 640 * 480;
  LANNER_EXPECT_ERROR(VideoReader(open_path(clip_), options_).next(), ErrorCode::limit_exceeded,
                      "the limit total_bytes of 307200");
  options_.decoder.limits.pixels = 640 * 479;
  LANNER_EXPECT_ERROR(VideoReader(open_path(clip_), options_).next(), ErrorCode::limit_exceeded,
                      "pixels of a picture");
}

} // namespace
} // namespace lanner
