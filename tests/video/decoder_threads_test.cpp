// Threads of decoders: as many as suit the picture, some for all decoders of a process, none for idle ones.

#include "video/read/decoder_threads.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include <lanner/threads.h>
#include <lanner/video_reader.h>

#include "expect_error.h"
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
      EXPECT_LE(grown(), DecoderThreads::most() + default_threads()) << "and the pool's";
    }
  EXPECT_GE(grown(), 4) << "the first ones have threads";
  for (const auto& one : found) EXPECT_EQ(one, expected);
  readers.clear();
  EXPECT_EQ(grown(), 0);
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
  EXPECT_GE(least, 3) << "at its end a reader gives them back";
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

/// Decoders get no threads of their own: the process's pool decodes.
class WithoutThreads : public DecoderThreadsTest {
protected:
  void SetUp() override {
    DecoderThreadsTest::SetUp();
    do taken_.push_back(DecoderThreads::take(1000));
    while (taken_.back().count() > 1);
  }
  void TearDown() override {
    taken_.clear();
    DecoderThreadsTest::TearDown();
  }
  /// Where it is decoded by the pool, and where by one thread.
  static std::vector<VideoReaderOptions> both(bool raise = false) {
    std::vector<VideoReaderOptions> options(2);
    options[1].decoder.threads = 1;
    for (VideoReaderOptions& one : options) one.decoder.raise_on_error = raise;
    return options;
  }
  /// A few bytes of each of some packets are overwritten.
  static std::filesystem::path damage(const std::filesystem::path& path) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path));
    for (std::int64_t at = size / 4; at < size * 3 / 4; at += size / 9) {
      file.seekp(at);
      file.write("damage here", 11);
    }
    return path;
  }
  std::vector<DecoderThreads> taken_;
};

TEST_F(WithoutThreads, FramesAreTheSame) {
  int tried = 0;
  for (const char* codec : {"h264", "hevc", "av1", "vp9", "mpeg4", "mpeg2", "mjpeg"}) {
    SCOPED_TRACE(codec);
    std::filesystem::path path;
    try {
      path = clip(128, 128, codec);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::unsupported) continue;
      throw;
    }
    ++tried;
    VideoReader pooled = open(path), alone = open(path, 1);
    const std::vector<std::uint32_t> expected = sums(alone);
    EXPECT_EQ(sums(pooled), expected);
    if (codec != std::string("mjpeg")) EXPECT_EQ(grown(), 2) << "the pool's";
    ASSERT_EQ(expected.size(), 12u);
    for (const std::int64_t i : {11, 0, 5, 6, 3, 11, 10, 9})
      EXPECT_EQ(test::frame_checksum(pooled.at(i).image), expected[static_cast<std::size_t>(i)]) << i;
    pooled.rewind();
    EXPECT_EQ(sums(pooled), expected);
  }
  EXPECT_GT(tried, 3);
  EXPECT_EQ(grown(), 0) << "the pool ends with the last decoder";
}

TEST_F(WithoutThreads, DamageIsTheSame) {
  for (const char* codec : {"h264", "mpeg4"}) {
    const auto path = damage(clip(128, 128, codec));
    std::vector<std::vector<std::string>> told;
    for (const bool raise : {false, true})
      for (const VideoReaderOptions& options : both(raise)) {
        VideoReader reader(open_path(path), options);
        std::vector<std::string>& lines = told.emplace_back();
        for (int i = 0; i < 40; ++i) {
          try {
            const auto frame = reader.next();
            if (!frame) break;
            lines.push_back(fmt::format("{} {} {} {}", frame->index, frame->pts, frame->corrupt,
                                        test::frame_checksum(frame->image)));
          } catch (const Error& error) {
            lines.push_back(error.what());
          }
        }
      }
    EXPECT_EQ(told[0], told[1]) << codec;
    EXPECT_EQ(told[2], told[3]) << codec;
    EXPECT_NE(told[0], told[2]) << codec << ": there is damage";
  }
}

TEST_F(WithoutThreads, PicturesBeyondALimitAreTheSame) {
  const auto path = clip(640, 480);
  for (VideoReaderOptions options : both()) {
    options.decoder.limits.total_bytes = 640 * 480;
    VideoReader reader(open_path(path), options);
    LANNER_EXPECT_ERROR(reader.next(), ErrorCode::limit_exceeded, "the limit total_bytes of 307200");
  }
}

TEST_F(WithoutThreads, ManyDecodersAtOnceFromManyThreads) {
  const auto path = clip(128, 128);
  VideoReader alone = open(path, 1);
  const std::vector<std::uint32_t> expected = sums(alone);
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) {
        VideoReader reader = open(path);
        if (i % 2) reader.next(); // And is gone while a packet is decoded.
        if (i % 2 == 0 && sums(reader) == expected) ++right;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 4 * 3);
}

// A child made in the middle goes on, or is told that its decoder stayed at work in the parent.
TEST_F(WithoutThreads, ForkedChildrenGoOnOrAreTold) {
  const auto path = clip(128, 128);
  VideoReader alone = open(path, 1);
  const std::vector<std::uint32_t> expected = sums(alone);
  for (int i = 0; i < 4; ++i) {
    auto reader = std::make_unique<VideoReader>(open_path(path));
    for (int k = 0; k <= i; ++k) ASSERT_TRUE(reader->next());
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::alarm(60); // Ends a child that hangs.
      int status = 1;
      try {
        const auto frame = reader->next();
        status =
            frame && test::frame_checksum(frame->image) == expected[static_cast<std::size_t>(i) + 1] ? 0 : 2;
        reader.reset();
      } catch (const Error& error) {
        status = error.code() == ErrorCode::unsupported ? 0 : 3;
      }
      ::_exit(status);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0) << i;
    EXPECT_EQ(sums(*reader).size(), 11u - static_cast<std::size_t>(i));
  }
}

} // namespace
} // namespace lanner
