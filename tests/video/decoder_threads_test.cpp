// Threads of decoders: as many as suit the picture, some for all decoders of a process, none for idle ones.

#include "video/read/decoder_threads.h"

#include <filesystem>
#include <iterator>
#include <vector>

#include <lanner/threads.h>
#include <lanner/video_reader.h>

#include "temporary_folder.h"
#include "video/clips.h"

namespace lanner {
namespace {

int threads_of_the_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<int>(std::distance(begin(tasks), end(tasks)));
}

/// Two cores, whatever the machine has.
class DecoderThreadsTest : public ::testing::Test {
protected:
  void SetUp() override {
    LANNER_NEEDS_FFMPEG();
    set_threads(2);
    before_ = threads_of_the_process();
  }
  void TearDown() override {
    set_threads(0);
    EXPECT_FALSE(DecoderThreads::scarce());
  }

  std::filesystem::path clip(std::int32_t width, std::int32_t height, const std::string& codec = "h264") {
    EncoderOptions options;
    options.width = width;
    options.height = height;
    options.codec = codec;
    return test::make_clip(folder_ / "clip.mkv", 12, options);
  }
  static VideoReader open(const std::filesystem::path& path, int threads = 0) {
    VideoReaderOptions options;
    options.decoder.threads = threads;
    return VideoReader(open_path(path), options);
  }
  static std::vector<std::uint32_t> sums(VideoReader& reader) {
    std::vector<std::uint32_t> sums;
    while (const auto frame = reader.next()) sums.push_back(test::frame_checksum(frame->image));
    return sums;
  }
  int grown() const { return threads_of_the_process() - before_; }

  TemporaryFolder folder_;
  int before_ = 0;
};

TEST(DecoderThreadsShare, HalfOfWhatIsLeftAndNoneInTheEnd) {
  set_threads(2);
  ASSERT_EQ(DecoderThreads::most(), 16);
  std::vector<DecoderThreads> all;
  std::vector<int> counts;
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(DecoderThreads::scarce(), i > 2) << i;
    const int offered = DecoderThreads::offered(4);
    all.push_back(DecoderThreads::take(4));
    counts.push_back(all.back().count());
    EXPECT_EQ(offered, counts.back());
  }
  EXPECT_EQ(counts, (std::vector<int>{4, 4, 4, 2, 1, 1, 1}));
  all.erase(all.begin());
  EXPECT_EQ(DecoderThreads::take(4).count(), 3) << "what was given back";
  EXPECT_EQ(DecoderThreads::take(0).count(), DecoderThreads::none);
  all.clear();
  EXPECT_EQ(DecoderThreads::offered(4), 4);
  set_threads(0);
}

TEST_F(DecoderThreadsTest, ManyReadersShareSome) {
  const auto path = clip(128, 128);
  VideoReader alone = open(path, 1);
  const std::vector<std::uint32_t> expected = sums(alone);
  std::vector<VideoReader> readers;
  for (int i = 0; i < 30; ++i) readers.push_back(open(path));
  EXPECT_EQ(grown(), 0) << "nobody reads yet";
  std::vector<std::vector<std::uint32_t>> found(readers.size());
  for (std::size_t k = 0; k < expected.size(); ++k)
    for (std::size_t i = 0; i < readers.size(); ++i) {
      const auto frame = readers[i].next();
      ASSERT_TRUE(frame) << k;
      found[i].push_back(test::frame_checksum(frame->image));
      EXPECT_LE(grown(), DecoderThreads::most());
    }
  EXPECT_GE(grown(), 4) << "the first ones have threads";
  for (const auto& one : found) EXPECT_EQ(one, expected);
}

TEST_F(DecoderThreadsTest, OneAfterTheOtherAllHaveThreads) {
  const auto path = clip(128, 128);
  std::vector<VideoReader> readers;
  for (int i = 0; i < 12; ++i) readers.push_back(open(path));
  int least = 100;
  for (VideoReader& reader : readers) {
    const int before = grown();
    ASSERT_TRUE(reader.next());
    least = std::min(least, grown() - before);
    while (reader.next()) {
    }
  }
  EXPECT_GE(least, 3) << "who has come to the end gives his back";
  EXPECT_LE(grown(), DecoderThreads::most() / 2);
  const std::vector<std::uint32_t> once = sums(readers[11]);
  EXPECT_TRUE(once.empty());
  readers[11].rewind();
  EXPECT_EQ(sums(readers[11]).size(), 12u) << "and takes them again";
}

TEST_F(DecoderThreadsTest, SmallPicturesHaveFewOrNone) {
  const auto described = [&](std::int32_t height) { return open(clip(96, height)).decoder_description(); };
  EXPECT_EQ(described(48), "ffmpeg h264, 1 thread");
  EXPECT_EQ(described(96), "ffmpeg h264, 3 threads");
  EXPECT_EQ(described(256), "ffmpeg h264, 4 threads");
  VideoReader reader = open(clip(96, 48));
  EXPECT_EQ(sums(reader).size(), 12u);
  EXPECT_EQ(grown(), 0);
}

TEST_F(DecoderThreadsTest, NumbersThatWereAskedForAreKept) {
  const auto path = clip(96, 48);
  std::vector<VideoReader> readers;
  for (int i = 0; i < 8; ++i) readers.push_back(open(path, 3));
  EXPECT_EQ(readers[7].decoder_description(), "ffmpeg h264, 3 threads");
  for (VideoReader& reader : readers) ASSERT_TRUE(reader.next());
  EXPECT_EQ(grown(), 8 * 3);
}

} // namespace
} // namespace lanner
