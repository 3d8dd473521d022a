// What other readers are known to get wrong: defects of PyNvVideoCodec and wishes of its users, by number as
// in their own reports.

#include <lanner/video_reader.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>

#include "expect_error.h"
#include "temporary_folder.h"
#include "video/clips.h"

namespace lanner {
namespace {

class Defect : public ::testing::Test {
protected:
  void SetUp() override { LANNER_NEEDS_FFMPEG(); }
  std::filesystem::path clip(const char* name, int frames = 40, EncoderOptions options = {}) {
    return test::make_clip(folder_ / name, frames, std::move(options));
  }
  static std::vector<std::uint32_t> sums(VideoReader& reader) {
    std::vector<std::uint32_t> result;
    while (const auto frame = reader.next()) result.push_back(test::frame_checksum(frame->image));
    return result;
  }
  static std::vector<std::uint32_t> sums(const std::filesystem::path& path) {
    VideoReader reader(open_path(path), plain());
    return sums(reader);
  }
  static VideoReaderOptions plain(int decoders = 0) {
    VideoReaderOptions options;
    options.cache_index = false;
    options.decoders = decoders;
    return options;
  }
  TemporaryFolder folder_;
};

// The last frame, the whole range and nothing at all are as good as any; what lies outside is an error.
TEST_F(Defect, D01RangesUpToTheEnd) {
  const auto path = clip("a.mp4");
  const auto expected = sums(path);
  VideoReader reader(open_path(path), plain());
  std::vector<std::int64_t> all(40);
  std::iota(all.begin(), all.end(), 0);
  const auto frames = reader.at(all);
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(test::frame_checksum(frames[i].image), expected[i]);
  EXPECT_EQ(test::frame_checksum(reader.at(39).image), expected[39]);
  EXPECT_FALSE(reader.next());
  EXPECT_TRUE(reader.at(std::vector<std::int64_t>{}).empty());
  LANNER_EXPECT_ERROR(reader.at(40), ErrorCode::invalid_argument, "40 frames");
}

TEST_F(Defect, D02DuplicatesAreFramesAndBadNumbersAreErrors) {
  const auto path = clip("a.mp4");
  const auto expected = sums(path);
  for (const int decoders : {1, 3}) {
    VideoReader reader(open_path(path), plain(decoders));
    const std::vector<std::int64_t> wanted{39, 5, 5, 0, 39, 5};
    const auto frames = reader.at(wanted);
    ASSERT_EQ(frames.size(), wanted.size());
    for (std::size_t k = 0; k < wanted.size(); ++k)
      EXPECT_EQ(test::frame_checksum(frames[k].image), expected[static_cast<std::size_t>(wanted[k])]);
    const Tensor batch = reader.batch(wanted, Preprocess::preset("none"));
    EXPECT_EQ(batch.shape()[0], 6);
    for (const std::int64_t bad : {std::int64_t{40}, std::int64_t{-1}, INT64_MAX, INT64_MIN}) {
      const std::vector<std::int64_t> list{1, bad};
      LANNER_EXPECT_ERROR(reader.at(list), ErrorCode::invalid_argument, "out of range");
      LANNER_EXPECT_ERROR(reader.batch(list, {}), ErrorCode::invalid_argument, "out of range");
    }
  }
}

TEST_F(Defect, D03FailureLeavesTheReaderWhole) {
  const auto path = clip("a.mp4");
  const auto expected = sums(path);
  VideoReader reader(open_path(path), plain(2));
  const std::vector<std::int64_t> wanted{3, 30};
  Preprocess enormous;
  enormous.width = enormous.height = 1 << 18;
  for (int round = 0; round < 3; ++round) {
    LANNER_EXPECT_ERROR(reader.batch(wanted, enormous), ErrorCode::invalid_argument, "preprocess");
    const auto frames = reader.at(wanted);
    EXPECT_EQ(test::frame_checksum(frames[0].image), expected[3]);
    EXPECT_EQ(test::frame_checksum(frames[1].image), expected[30]);
  }
}

TEST_F(Defect, D05TransportStreams) {
  const auto path = clip("a.ts");
  const auto expected = sums(path);
  ASSERT_EQ(expected.size(), 40u);
  VideoReader reader(open_path(path), plain());
  const auto index = reader.index();
  for (const std::int64_t i : {31, 2, 17, 39}) {
    const Frame frame = reader.at(i);
    EXPECT_EQ(test::frame_checksum(frame.image), expected[static_cast<std::size_t>(i)]);
    EXPECT_EQ(frame.pts, index->frames[static_cast<std::size_t>(i)].pts);
    EXPECT_EQ(reader.index_at(frame.seconds()), i);
    EXPECT_EQ(reader.index_at(frame.seconds() + 0.03), i);
  }
}

TEST_F(Defect, D06EditLists) {
  const auto whole = clip("a.mp4", 60);
  const auto cut = folder_ / "b.mp4";
  if (!test::output_of(
          fmt::format("ffmpeg -v error -ss 0.5 -i {} -c copy {}", test::quoted(whole), test::quoted(cut))))
    GTEST_SKIP() << "the program ffmpeg is missing";
  const auto expected = sums(cut);
  ASSERT_GT(expected.size(), 20u);
  VideoReader reader(open_path(cut), plain(2));
  ASSERT_EQ(reader.size(), static_cast<std::int64_t>(expected.size()));
  std::vector<std::int64_t> all(expected.size());
  std::iota(all.rbegin(), all.rend(), 0);
  const auto frames = reader.at(all);
  for (std::size_t k = 0; k < all.size(); ++k)
    ASSERT_EQ(test::frame_checksum(frames[k].image), expected[static_cast<std::size_t>(all[k])]);
}

TEST_F(Defect, D07SeekingHasEffect) {
  const auto path = clip("a.mkv");
  const auto expected = sums(path);
  VideoReader reader(open_path(path), plain());
  for (const std::int64_t i : {25, 3, 38}) {
    reader.at(i);
    EXPECT_EQ(test::frame_checksum(reader.next().value().image), expected[static_cast<std::size_t>(i + 1)]);
  }
}

TEST_F(Defect, D08OpenGroupsOfPictures) {
  EncoderOptions options;
  options.codec_options = {
      {"x264-params", "open-gop=1:keyint=8:min-keyint=8:bframes=3:b-adapt=0:scenecut=0"}};
  const auto path = clip("a.mp4", 40, options);
  const auto expected = sums(path);
  VideoReader reader(open_path(path), plain(3));
  const auto index = reader.index();
  int open = 0;
  std::vector<std::int64_t> around;
  for (std::int64_t i = 1; i < 40; ++i) {
    if (index->frames[static_cast<std::size_t>(i)].entry != EntryPoint::recovery) continue;
    ++open;
    for (const std::int64_t k : {i - 2, i - 1, i, i + 1})
      if (k >= 0 && k < 40) around.push_back(k);
  }
  EXPECT_GT(open, 2);
  const auto frames = reader.at(around);
  for (std::size_t k = 0; k < around.size(); ++k)
    EXPECT_EQ(test::frame_checksum(frames[k].image), expected[static_cast<std::size_t>(around[k])]);
}

// Readers on threads of their own share nothing but what they are given.
TEST_F(Defect, D09ReadersRunSideBySide) {
  const auto path = clip("a.mp4");
  const auto expected = sums(path);
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&] {
      if (sums(path) == expected) ++right;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 6);
}

TEST_F(Defect, D10FramesOutliveEverything) {
  const auto path = clip("a.mp4");
  const auto expected = sums(path);
  std::vector<Frame> held;
  {
    VideoReader reader(open_path(path), plain(2));
    std::vector<std::int64_t> all(40);
    std::iota(all.begin(), all.end(), 0);
    held = reader.at(all);
    reader.at(std::vector<std::int64_t>{1, 20}); // The same decoders again.
  }
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(test::frame_checksum(held[i].image), expected[i]);
}

TEST_F(Defect, D10EndingInTheMiddle) {
  const auto path = clip("a.mp4", 120);
  for (const int decoders : {1, 2, 5})
    for (const int taken : {0, 1, 30}) {
      ParallelDecoder decoder(open_path(path), plain(decoders));
      for (int i = 0; i < taken; ++i) ASSERT_TRUE(decoder.next());
      VideoReaderOptions options = plain(decoders);
      options.prefetch = 3;
      VideoReader reader(open_path(path), options);
      for (int i = 0; i < taken; ++i) ASSERT_TRUE(reader.next());
    }
}

TEST_F(Defect, D13SourcesNeedNoPath) {
  const auto path = clip("a.mp4");
  const auto expected = sums(path);
  const std::string bytes = test::bytes_of(path);
  std::atomic<int> inside = 0;
  const auto read = [&](std::uint64_t offset, std::span<std::byte> into) {
    EXPECT_EQ(++inside, 1) << "a callback is called by one thread at a time";
    const std::size_t count =
        offset < bytes.size() ? std::min(into.size(), bytes.size() - static_cast<std::size_t>(offset)) : 0;
    std::memcpy(into.data(), bytes.data() + offset, count);
    --inside;
    return count;
  };
  ParallelDecoder decoder(open_callback(read, static_cast<std::int64_t>(bytes.size()), true), plain(3));
  std::vector<std::uint32_t> found;
  while (const auto frame = decoder.next()) found.push_back(test::frame_checksum(frame->image));
  EXPECT_EQ(found, expected);
}

} // namespace
} // namespace lanner
