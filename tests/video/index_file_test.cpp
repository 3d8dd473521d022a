// Indexes as files: what is kept comes back, and what is hostile is as if it were not there.

#include "video/index/index_file.h"

#include <lanner/video_reader.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "base/file/file_identity.h"
#include "base/options.h"
#include "expect_error.h"
#include "temporary_folder.h"
#include "video/clips.h"
#include "video/index/index_cache.h"
#include "video/index/source_identity.h"

namespace lanner {
namespace {

const std::string key(32, 'k'), identity(32, 'i');

std::vector<PacketEntry> packets() {
  std::vector<PacketEntry> result;
  for (int i = 0; i < 40; ++i) {
    PacketEntry packet{i * 512, i == 3 ? no_pts : i * 512 - 1024, 512, i % 5 == 0 ? -1 : 1000 + i * 77};
    packet.size = static_cast<std::uint32_t>(10 + i * i);
    packet.start = static_cast<EntryPoint>(i % 6);
    packet.key = i % 2;
    packet.shown = i % 7 != 0;
    packet.corrupt = i == 9;
    packet.disposable = i % 3 == 0;
    packet.delayed = i == 11;
    result.push_back(packet);
  }
  result[5].pts = INT64_MAX;
  result[6].pts = INT64_MIN + 1;
  return result;
}

std::vector<ShownFrame> frames() {
  return {{0, 5, 1}, {2, no_pts, 0}, {1, -7, 3}, {-1, 9, 0}, {39, 10, 2}};
}

std::shared_ptr<const StreamIndex> settled() {
  return settled_index(2, {1, 12800}, packets(), frames(), DeviceKind::cuda, identity);
}

std::shared_ptr<const StreamIndex> predicted(std::vector<PacketEntry> list = packets()) {
  return predicted_index(0, {1, 90000}, std::move(list), identity);
}

TEST(IndexFile, ComesBackAsItWas) {
  for (const auto& index : {settled(), predicted(), predicted({})}) {
    const auto read = read_index(write_index(*index, key), key, {});
    const ContentPtr before = content_of(*index), after = content_of(*read);
    EXPECT_EQ(read->stream, index->stream);
    EXPECT_EQ(read->time_base, index->time_base);
    EXPECT_EQ(after->table.packets(), before->table.packets());
    EXPECT_EQ(after->frames, before->frames);
    EXPECT_EQ(after->index_of, before->index_of);
    EXPECT_EQ(after->settled, before->settled);
    EXPECT_EQ(after->named, before->named);
    EXPECT_EQ(after->settled_on, before->settled_on);
    EXPECT_EQ(after->identity, before->identity);
    EXPECT_EQ(read->frames.size(), index->frames.size());
  }
}

TEST(IndexFile, IsCompact) {
  std::vector<PacketEntry> list(10000);
  for (std::size_t i = 0; i < list.size(); ++i) {
    list[i].pts = list[i].dts = static_cast<std::int64_t>(i) * 512;
    list[i].pos = static_cast<std::int64_t>(i) * 5000;
    list[i].duration = 512;
    list[i].size = 5000;
  }
  EXPECT_LT(write_index(*predicted(list), key).size(), 15u * list.size());
}

TEST(IndexFile, DamageIsSeen) {
  const std::vector<std::byte> whole = write_index(*settled(), key);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_THROW(read_index(std::span(whole).first(size), key, {}), Error) << size;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::vector<std::byte> bytes = whole;
    bytes[i] ^= std::byte{0x10};
    EXPECT_THROW(read_index(bytes, key, {}), Error) << i;
  }
  LANNER_EXPECT_ERROR(read_index(whole, std::string(32, 'o'), {}), ErrorCode::bad_data, "another source");
}

/// The file with another body, and the digest that fits it.
std::vector<std::byte> with_digest(std::vector<std::byte> body) {
  const std::string digest = index_digest(body);
  for (const char c : digest) body.push_back(static_cast<std::byte>(c));
  return body;
}

// Behind a digest that fits, every byte is still a stranger's.
TEST(IndexFile, EveryFieldIsHostile) {
  const std::vector<std::byte> whole = write_index(*settled(), key);
  const std::vector<std::byte> body(whole.begin(), whole.end() - 32);
  std::mt19937 random(3);
  int read = 0, refused = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    std::vector<std::byte> bytes = body;
    for (int flips = 1 + trial % 3; flips > 0; --flips)
      bytes[41 + random() % (bytes.size() - 41)] = static_cast<std::byte>(random());
    if (trial % 5 == 0) bytes.resize(41 + random() % (bytes.size() - 41));
    try {
      const auto index = read_index(with_digest(bytes), key, {});
      const ContentPtr content = content_of(*index);
      for (const ShownFrame& frame : content->frames) {
        ASSERT_GE(frame.ordinal, -1);
        ASSERT_LT(frame.ordinal, content->table.size());
      }
      ++read;
    } catch (const Error& error) {
      ASSERT_NE(error.code(), ErrorCode::internal) << error.message();
      ++refused;
    }
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 100);
}

TEST(IndexFile, CountsAreCheckedBeforeMemoryIsTaken) {
  std::vector<std::byte> body = write_index(*predicted({}), key);
  body.resize(body.size() - 32 - 1); // Without digest and the count of packets.
  for (int i = 0; i < 8; ++i) body.push_back(std::byte{0xff});
  body.push_back(std::byte{0x7f});
  LANNER_EXPECT_ERROR(read_index(with_digest(body), key, {}), ErrorCode::bad_data, "packets");
  Limits limits;
  limits.frames = 39;
  LANNER_EXPECT_ERROR(read_index(write_index(*predicted(), key), key, limits), ErrorCode::limit_exceeded,
                      "--limit frames=N");
}

TEST(IndexCache, KeepsOnePlaceForEachKey) {
  const TemporaryFolder folder;
  const IndexCache place(folder.path(), "a", identity, {}), other(folder.path(), "b", identity, {});
  EXPECT_EQ(place.load(), nullptr);
  place.store(*predicted());
  ASSERT_NE(place.load(), nullptr);
  EXPECT_EQ(place.load()->frames.size(), predicted()->frames.size());
  EXPECT_EQ(other.load(), nullptr);
  std::filesystem::copy_file(place.file(), other.file());
  EXPECT_EQ(other.load(), nullptr) << "a file of another key";
  std::filesystem::resize_file(place.file(), 50);
  EXPECT_EQ(place.load(), nullptr);
  place.store(*predicted());
  EXPECT_NE(place.load(), nullptr);
}

TEST(IndexCache, KeepsNoOtherClipsIndex) {
  const TemporaryFolder folder;
  const IndexCache place(folder.path(), "a", identity, {}),
      others(folder.path(), "a", std::string(32, 'o'), {});
  ASSERT_EQ(place.file(), others.file());
  others.store(*predicted());
  EXPECT_FALSE(std::filesystem::exists(others.file())) << "an index of another clip than the place's";
  place.store(*predicted());
  EXPECT_NE(place.load(), nullptr);
  EXPECT_EQ(others.load(), nullptr) << "what lies there is not of this clip";
}

TEST(IndexCache, CannotBeWritten) {
  const TemporaryFolder folder;
  const IndexCache place(folder.write("file", "") / "below", "a", identity, {});
  EXPECT_NO_THROW(place.store(*predicted()));
  EXPECT_EQ(place.load(), nullptr);
}

TEST(IndexCache, DropsWhatWasNotUsedForLongest) {
  const TemporaryFolder folder;
  const auto now = std::filesystem::file_time_type::clock::now();
  for (int i = 0; i < 5; ++i) {
    const auto path = folder.write(std::to_string(i) + ".index", std::string(100, 'x'));
    std::filesystem::last_write_time(path, now - std::chrono::hours(i == 0 ? 0 : 10 - i));
  }
  folder.write("other.txt", std::string(1000, 'x'));
  trim_folder(folder.path(), 250);
  EXPECT_TRUE(std::filesystem::exists(folder / "0.index"));
  EXPECT_TRUE(std::filesystem::exists(folder / "4.index"));
  EXPECT_EQ(folder.entries(), 3u) << "two indexes and what is none";
}

/// The user's own cache folder, where this process may write there; what the test leaves is removed.
class UsersCache : public ::testing::Test {
protected:
  void SetUp() override {
    LANNER_NEEDS_FFMPEG();
    clip_ = test::make_clip(folder_ / "a.mp4", 24);
    if (options().cache_folder.empty()) GTEST_SKIP() << "no cache folder";
    build_index(open_path(clip_));
    if (!std::filesystem::exists(place().file())) GTEST_SKIP() << "the cache folder cannot be written";
  }
  void TearDown() override {
    std::error_code ignored;
    for (const auto& file : files_) std::filesystem::remove(file, ignored);
  }
  IndexCache place() {
    IndexRequest request;
    request.source = open_path(clip_);
    const IndexCache cache = IndexCache::of(request, 0, source_identity(*request.source));
    files_.push_back(cache.file());
    return cache;
  }
  TemporaryFolder folder_;
  std::filesystem::path clip_;
  std::vector<std::filesystem::path> files_;
};

TEST_F(UsersCache, SecondOpenReadsIt) {
  const ContentPtr content = content_of(*build_index(open_path(clip_)));
  std::vector<PacketEntry> list = content->table.packets();
  list.resize(10); // So that it is seen where an index comes from.
  place().store(*predicted_index(0, {1, 25}, list, content->identity));
  EXPECT_EQ(VideoReader(open_path(clip_)).size(), 10);
  VideoReaderOptions without;
  without.cache_index = false;
  EXPECT_EQ(VideoReader(open_path(clip_), without).size(), 24);
  const std::string bytes = test::bytes_of(clip_);
  EXPECT_EQ(VideoReader(open_bytes(std::as_bytes(std::span(bytes)))).size(), 24) << "only files have one";
}

TEST_F(UsersCache, ChangedFileIsReadAnew) {
  const auto before = place().file();
  std::filesystem::last_write_time(clip_,
                                   std::filesystem::last_write_time(clip_) + std::chrono::nanoseconds(1));
  EXPECT_NE(place().file(), before);
  EXPECT_EQ(VideoReader(open_path(clip_)).size(), 24);
}

TEST_F(UsersCache, HostileFilesAreBuiltAnew) {
  const std::string whole = test::bytes_of(place().file());
  for (std::string bytes : {std::string(), whole.substr(0, whole.size() / 2), std::string(1000, '\xff')}) {
    std::ofstream(place().file(), std::ios::binary) << bytes;
    EXPECT_EQ(VideoReader(open_path(clip_)).size(), 24);
    EXPECT_EQ(test::bytes_of(place().file()), whole);
  }
}

TEST_F(UsersCache, AnotherClipsIndexIsRefusedAndLeavesNothing) {
  const std::string kept = test::bytes_of(place().file());
  const auto other = test::make_clip(folder_ / "b.mp4", 30);
  IndexOptions plain;
  plain.cache = false;
  VideoReaderOptions foreign;
  foreign.index = build_index(open_path(other), plain);
  for (int i = 0; i < 2; ++i)
    LANNER_EXPECT_ERROR(VideoReader(open_path(clip_), foreign).at(20), ErrorCode::invalid_argument,
                        "a.mp4: the index that was given is of another clip");
  EXPECT_EQ(test::bytes_of(place().file()), kept);
  foreign.index = build_index(open_path(clip_), plain);
  EXPECT_EQ(VideoReader(open_path(clip_), foreign).at(20).index, 20);
}

// An index whose word for the clip's identity is right and whose packets are not: no honest one.
TEST_F(UsersCache, AWrongIndexHealsItself) {
  EncoderOptions coarse;
  coarse.crf = 45;
  const auto other = test::make_clip(folder_ / "b.mp4", 30, coarse);
  const auto right = content_of(*build_index(open_path(clip_)));
  const auto packets = content_of(*build_index(open_path(other)))->table.packets();
  std::vector<ShownFrame> frames;
  for (std::int64_t i = 0; i < 30; ++i) frames.push_back({29 - i, i, 1});
  std::vector<std::uint32_t> expected;
  VideoReader linear(open_path(clip_));
  while (const auto frame = linear.next()) expected.push_back(test::frame_checksum(frame->image));
  for (const auto& wrong : {predicted_index(0, {1, 25}, packets, right->identity),
                            settled_index(0, {1, 25}, packets, frames, DeviceKind::cpu, right->identity)})
    for (const bool several : {false, true}) {
      place().store(*wrong);
      VideoReader reader(open_path(clip_));
      const std::vector<std::int64_t> wanted{11, 5};
      const std::vector<Frame> found =
          several ? reader.at(wanted) : std::vector<Frame>{reader.at(11), reader.at(5)};
      EXPECT_EQ(test::frame_checksum(found[0].image), expected[11]);
      EXPECT_EQ(test::frame_checksum(found[1].image), expected[5]);
      EXPECT_EQ(reader.size(), 24);
      EXPECT_EQ(VideoReader(open_path(clip_)).size(), 24) << "the cache holds the right one again";
    }
}

TEST_F(UsersCache, KeepsWhatDecodingSettled) {
  const auto raw = test::make_clip(folder_ / "a.264", 20); // No times: counted by decoding.
  clip_ = raw;
  EXPECT_EQ(VideoReader(open_path(raw)).size(), 20);
  const auto kept = place().load();
  ASSERT_NE(kept, nullptr);
  EXPECT_TRUE(content_of(*kept)->settled);
  EXPECT_EQ(kept->frames.size(), 20u);
}

TEST(SharedIndex, SixteenThreadsReadByOne) {
  LANNER_NEEDS_FFMPEG();
  const TemporaryFolder folder;
  const auto clip = test::make_clip(folder / "a.mp4", 40);
  IndexOptions plain;
  plain.cache = false;
  const auto index = build_index(open_path(clip), plain);
  std::vector<std::uint32_t> expected;
  VideoReader linear(open_path(clip));
  while (const auto frame = linear.next()) expected.push_back(test::frame_checksum(frame->image));
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 16; ++t)
    threads.emplace_back([&, t] {
      VideoReaderOptions options;
      options.index = index;
      options.decoder.threads = 1;
      options.decoders = 1;
      VideoReader reader(open_path(clip), options);
      for (int k = 0; k < 4; ++k) {
        const std::int64_t i = (t * 7 + k * 13) % 40;
        if (test::frame_checksum(reader.at(i).image) == expected[static_cast<std::size_t>(i)]) ++right;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 64);
}

TEST(SharedIndex, HasToFit) {
  LANNER_NEEDS_FFMPEG();
  const TemporaryFolder folder;
  const auto clip = test::make_clip(folder / "a.mp4", 5);
  VideoReaderOptions options;
  auto made = std::make_shared<StreamIndex>();
  options.index = made;
  LANNER_EXPECT_ERROR(VideoReader(open_path(clip), options), ErrorCode::invalid_argument, "build_index");
  auto moved = std::make_shared<StreamIndex>(*build_index(open_path(clip), {{}, -1, false}));
  moved->stream = 3;
  options.index = moved;
  LANNER_EXPECT_ERROR(VideoReader(open_path(clip), options), ErrorCode::invalid_argument, "stream 3");
}

} // namespace
} // namespace lanner
