// Clips that are stored turned, and readers that begin once more.

#include <lanner/video_reader.h>

#include <cstring>
#include <thread>

#include "expect_error.h"
#include "temporary_folder.h"
#include "video/clips.h"

namespace lanner {
namespace {

class Rotation : public ::testing::Test {
protected:
  void SetUp() override {
    LANNER_NEEDS_FFMPEG();
    path_ = test::make_clip(folder_ / "a.mp4", 20);
    test::turn_in_file(path_);
  }

  VideoReaderOptions stored() const {
    VideoReaderOptions options;
    options.rotate = false;
    return options;
  }

  TemporaryFolder folder_;
  std::filesystem::path path_;
};

std::uint32_t sum(const Image& image) {
  return test::frame_checksum(image);
}

TEST_F(Rotation, FramesAreUprightByEveryWay) {
  VideoReader stored(open_path(path_), this->stored()), reader(open_path(path_));
  EXPECT_EQ(reader.stream().rotation, 90);
  std::vector<std::uint32_t> sums;
  while (const auto frame = stored.next()) {
    EXPECT_EQ(frame->rotation, 90);
    EXPECT_EQ(frame->image.width, 96);
    sums.push_back(sum(rotated_image(frame->image, 1)));
  }
  ASSERT_EQ(sums.size(), 20u);
  VideoReaderOptions ahead;
  ahead.prefetch = 3;
  ahead.decoders = 1;
  VideoReader prefetching(open_path(path_), ahead);
  VideoReaderOptions two;
  two.decoders = 2;
  ParallelDecoder parallel(open_path(path_), two);
  for (std::size_t i = 0; i < sums.size(); ++i)
    for (const Frame& frame : {*reader.next(), *prefetching.next(), *parallel.next()}) {
      EXPECT_EQ(sum(frame.image), sums[i]) << i;
      EXPECT_EQ(std::tuple(frame.rotation, frame.image.width, frame.image.height), std::tuple(0, 64, 96));
    }
  EXPECT_EQ(sum(reader.at(7).image), sums[7]);
  const std::vector<std::int64_t> wanted{11, 3};
  EXPECT_EQ(sum(reader.at(wanted)[0].image), sums[11]);
}

TEST_F(Rotation, BatchesAndTensorsAreOfUprightPictures) {
  Preprocess spec = Preprocess::preset("imagenet");
  VideoReaderOptions options;
  options.preprocess = spec;
  VideoReader reader(open_path(path_), options);
  const std::vector<std::int64_t> wanted{5};
  const Frame frame = reader.at(5);
  const Tensor expected = to_tensor(frame.image, spec), batch = reader.batch(wanted, spec);
  ASSERT_EQ(batch.shape(), (Shape{1, 3, 96, 64}));
  EXPECT_EQ(std::memcmp(batch.data(), expected.data(), expected.bytes()), 0);
  ASSERT_EQ(frame.tensor.shape(), expected.shape());
  EXPECT_EQ(std::memcmp(frame.tensor.data(), expected.data(), expected.bytes()), 0);
  EXPECT_EQ(reader.batch({}, spec).shape(), (Shape{0, 3, 96, 64}));
}

TEST_F(Rotation, FormatsAreOfUprightPictures) {
  VideoReaderOptions options;
  options.format = PixelFormat::rgb24;
  const Frame frame = VideoReader(open_path(path_), options).at(2);
  EXPECT_EQ(std::tuple(frame.image.format, frame.image.width, frame.image.height),
            std::tuple(PixelFormat::rgb24, 64, 96));
}

TEST_F(Rotation, ReadersBeginOnceMore) {
  VideoReader reader(open_path(path_));
  const std::uint32_t first = sum(reader.next()->image), second = sum(reader.next()->image);
  VideoReader another = reader.reopen(), indexed = reader.reopen(reader.index());
  EXPECT_EQ(sum(another.next()->image), first);
  EXPECT_EQ(indexed.index(), reader.index());
  std::thread beside([&] { EXPECT_EQ(sum(another.at(1).image), second); });
  EXPECT_EQ(reader.at(19).index, 19);
  beside.join();
  ParallelDecoder parallel(open_path(path_));
  while (parallel.next()) {
  }
  ParallelDecoder again = parallel.reopen();
  EXPECT_EQ(sum(again.next()->image), first);
}

TEST_F(Rotation, WhatComesOnceIsNotBegunOnceMore) {
  const std::string bytes = test::bytes_of(path_);
  const auto read = [&](std::uint64_t offset, std::span<std::byte> into) {
    const std::size_t count =
        std::min<std::size_t>(into.size(), bytes.size() - std::min<std::size_t>(bytes.size(), offset));
    std::memcpy(into.data(), bytes.data() + offset, count);
    return count;
  };
  const auto mkv = test::make_clip(folder_ / "b.ts", 5);
  const std::string stream = test::bytes_of(mkv);
  std::size_t place = 0;
  const auto once = [&](std::uint64_t, std::span<std::byte> into) {
    const std::size_t count = std::min(into.size(), stream.size() - place);
    std::memcpy(into.data(), stream.data() + place, count);
    place += count;
    return count;
  };
  VideoReader pipe(open_callback(once, -1, false, "pipe"));
  EXPECT_TRUE(pipe.next());
  LANNER_EXPECT_ERROR(pipe.reopen(), ErrorCode::unsupported, "pipe: its frames come once");
  VideoReader callback(open_callback(read, static_cast<std::int64_t>(bytes.size()), true, "callback"));
  EXPECT_TRUE(callback.reopen().next());
}

TEST_F(Rotation, ContainersTellOfTheWhole) {
  const auto demuxer = open_demuxer(open_path(path_));
  EXPECT_EQ(demuxer->metadata().at("major_brand"), "isom");
}

} // namespace
} // namespace lanner
