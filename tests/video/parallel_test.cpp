// Decoders side by side and ahead: bounds, errors, cancelling, forks; batches and sampling.

#include <lanner/video_reader.h>
#include <lanner/video_writer.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "expect_error.h"
#include "temporary_folder.h"
#include "video/clips.h"
#include "video/read/cursor_pool.h"
#include "video/read/shared_source.h"
#include "video/read/span_scheduler.h"

namespace lanner {
namespace {

class Parallel : public ::testing::Test {
protected:
  void SetUp() override { LANNER_NEEDS_FFMPEG(); }
  static VideoReaderOptions plain(int decoders = 2) {
    VideoReaderOptions options;
    options.cache_index = false;
    options.decoders = decoders;
    return options;
  }
  TemporaryFolder folder_;
};

// What waits is counted by frames that live: those that were made and not yet given to the consumer.
TEST_F(Parallel, MemoryBoundHolds) {
  const auto path = test::make_clip(folder_ / "a.mp4", 200);
  const SourcePtr source = shared_source(open_path(path));
  const VideoReaderOptions options = plain(4);
  constexpr std::int64_t max_frames = 6;
  std::atomic<std::int64_t> waiting = 0, peak = 0;
  SpanWork work;
  work.parts = std::make_shared<StreamParts>(content_of(*build_index(source, {{}, -1, false})));
  work.jobs = jobs_from(*work.parts->content, work.parts->plan, 0);
  ASSERT_GT(work.jobs.size(), 3u);
  work.workers = {4, 1};
  work.bound.bytes = max_frames * 96 * 64 * 3;
  work.finish = [&](Frame& frame) {
    frame.tensor = Tensor::allocate(DType::u8, Shape{96 * 64 * 3});
    frame.image = {};
    const std::int64_t now = ++waiting;
    std::int64_t before = peak;
    while (before < now && !peak.compare_exchange_weak(before, now)) {
    }
  };
  SpanScheduler scheduler(work, std::make_shared<CursorPool>(source, options),
                          std::make_shared<LinearReader>(source, options));
  std::int64_t frames = 0;
  while (const auto frame = scheduler.next()) {
    --waiting;
    EXPECT_EQ(frame->index, frames++);
  }
  EXPECT_EQ(frames, 200);
  // One more in the hands of each decoder and of the consumer, and the one that the oldest span may always
  // put.
  EXPECT_LE(peak, max_frames + 4 + 1 + 1);
}

TEST_F(Parallel, TellsWhatItDoes) {
  const auto path = test::make_clip(folder_ / "a.mp4", 120);
  const ParallelDecoder two(open_path(path), plain(2));
  EXPECT_EQ(two.size(), 120);
  EXPECT_EQ(two.description().find("2 x ffmpeg h264"), 0u) << two.description();
  EXPECT_NE(two.description().find("spans"), std::string::npos);
  EXPECT_EQ(two.decoder_reason(), "asked for");
  const ParallelDecoder one(open_path(path), plain(1));
  EXPECT_EQ(one.size(), -1);
  EXPECT_EQ(one.description().find("ffmpeg h264"), 0u) << one.description();
  EXPECT_EQ(one.stream().codec, "h264");
}

TEST_F(Parallel, ReportsProgress) {
  const auto path = test::make_clip(folder_ / "a.mp4", 30);
  Control control;
  double done = 0, total = 0;
  control.progress = [&](const ProgressUpdate& update) {
    if (update.stage != "decode") return;
    done = update.done;
    total = update.total;
  };
  ParallelDecoder decoder(open_path(path), plain(2), control);
  while (decoder.next()) {
  }
  EXPECT_EQ(done, 30);
  EXPECT_EQ(total, 30);
}

TEST_F(Parallel, PipesAreReadByOneDecoder) {
  const std::string bytes = test::bytes_of(test::make_clip(folder_ / "a.ts", 40));
  const auto read = [&](std::uint64_t offset, std::span<std::byte> into) {
    const std::size_t count =
        offset < bytes.size() ? std::min(into.size(), bytes.size() - static_cast<std::size_t>(offset)) : 0;
    std::memcpy(into.data(), bytes.data() + offset, count);
    return count;
  };
  ParallelDecoder decoder(open_callback(read, -1, false, "camera"), plain(4));
  EXPECT_EQ(decoder.size(), -1);
  std::int64_t frames = 0;
  while (const auto frame = decoder.next()) EXPECT_EQ(frame->index, frames++);
  EXPECT_EQ(frames, 40);
}

// The frames before come first, whatever the other decoders have done by then.
TEST_F(Parallel, ErrorsOfTheSourceComeInOrder) {
  const auto path = test::make_clip(folder_ / "a.mkv", 200);
  const std::string bytes = test::bytes_of(path);
  const auto index = build_index(open_path(path), {{}, -1, false});
  for (const int decoders : {1, 3}) {
    std::atomic<bool> broken = false;
    const auto read = [&](std::uint64_t offset, std::span<std::byte> into) -> std::size_t {
      check(!broken || offset < bytes.size() / 2, ErrorCode::io, "the disk is gone at {}", offset);
      const std::size_t count =
          offset < bytes.size() ? std::min(into.size(), bytes.size() - static_cast<std::size_t>(offset)) : 0;
      std::memcpy(into.data(), bytes.data() + offset, count);
      return count;
    };
    VideoReaderOptions options = plain(decoders);
    options.index = index;
    ParallelDecoder decoder(open_callback(read, static_cast<std::int64_t>(bytes.size()), true), options);
    broken = true;
    std::int64_t frames = 0;
    LANNER_EXPECT_ERROR(
        while (const auto frame = decoder.next()) { EXPECT_EQ(frame->index, frames++); }, ErrorCode::io,
        "the disk is gone");
    EXPECT_LT(frames, 200);
    EXPECT_THROW(decoder.next(), Error) << "again";
  }
}

TEST_F(Parallel, ASourceThatComesBack) {
  const auto path = test::make_clip(folder_ / "a.mp4", 80);
  const std::string bytes = test::bytes_of(path);
  VideoReader linear(open_path(path), plain(1));
  std::vector<std::uint32_t> expected;
  while (const auto frame = linear.next()) expected.push_back(test::frame_checksum(frame->image));
  std::atomic<int> reads_until_failure = INT_MAX;
  const auto read = [&](std::uint64_t offset, std::span<std::byte> into) -> std::size_t {
    check(reads_until_failure-- > 0, ErrorCode::io, "the disk is gone at {}", offset);
    const std::size_t count =
        offset < bytes.size()
            ? std::min({into.size(), bytes.size() - static_cast<std::size_t>(offset), std::size_t{2048}})
            : 0;
    std::memcpy(into.data(), bytes.data() + offset, count);
    return count;
  };
  for (const int decoders : {1, 2}) {
    VideoReader reader(open_callback(read, static_cast<std::int64_t>(bytes.size()), true), plain(decoders));
    reader.size();
    for (const std::int64_t i : {60, 9, 41, 10}) {
      const std::vector<std::int64_t> both{i, (i + 37) % 80};
      reads_until_failure = 0;
      const auto read_on = [&] {
        while (true) {
          reader.at(both);
          reader.at(70);
          reader.at(0);
        }
      };
      LANNER_EXPECT_ERROR(read_on(), ErrorCode::io, "the disk is gone");
      reads_until_failure = INT_MAX;
      EXPECT_EQ(test::frame_checksum(reader.at(both)[1].image), expected[static_cast<std::size_t>(both[1])]);
      EXPECT_EQ(test::frame_checksum(reader.at(i).image), expected[static_cast<std::size_t>(i)]);
      EXPECT_EQ(test::frame_checksum(reader.next().value().image), expected[static_cast<std::size_t>(i + 1)]);
    }
  }
}

TEST_F(Parallel, StopsWhenCancelled) {
  const auto path = test::make_clip(folder_ / "a.mp4", 200);
  for (const int decoders : {1, 3})
    for (const bool by_demuxer : {false, true}) {
      const CancelToken cancel = CancelToken::create();
      VideoReaderOptions options = plain(decoders);
      Control control;
      (by_demuxer ? options.demuxer.cancel : control.cancel) = cancel;
      ParallelDecoder decoder(open_path(path), options, control);
      ASSERT_TRUE(decoder.next());
      cancel.cancel();
      const auto rest = [&] {
        while (decoder.next()) {
        }
      };
      LANNER_EXPECT_ERROR(rest(), ErrorCode::cancelled, "");
    }
  const CancelToken cancel = CancelToken::create();
  VideoReaderOptions options = plain(2);
  options.demuxer.cancel = cancel;
  VideoReader reader(open_path(path), options);
  reader.size();
  cancel.cancel();
  LANNER_EXPECT_ERROR(reader.at(std::vector<std::int64_t>{1, 150}), ErrorCode::cancelled, "");
}

// A child made while decoders were at work has none of their threads: it is told so, and its end waits for
// nobody.
TEST_F(Parallel, ForkedChildrenAreTold) {
  const auto path = test::make_clip(folder_ / "a.mp4", 200);
  for (const int decoders : {1, 3}) {
    auto decoder = std::make_unique<ParallelDecoder>(open_path(path), plain(decoders));
    ASSERT_TRUE(decoder->next());
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::alarm(60); // Ends a child that hangs.
      int status = 1;
      try {
        decoder->next();
      } catch (const Error& error) {
        status = error.code() == ErrorCode::unsupported ? 0 : 2;
      }
      decoder.reset();
      ::_exit(status);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    int frames = 1;
    while (decoder->next()) ++frames;
    EXPECT_EQ(frames, 200);
  }
}

// What no wanted frame depends on is not given to the decoder, and nothing behind the last one is read.
TEST_F(Parallel, DecodesOnlyWhatIsNeeded) {
  EncoderOptions encoder;
  encoder.codec_options = {
      {"x264-params", "keyint=24:min-keyint=24:scenecut=0:bframes=3:b-adapt=0:b-pyramid=none"}};
  const auto path = test::make_clip(folder_ / "a.mp4", 48, encoder);
  const SourcePtr source = shared_source(open_path(path));
  const auto parts = std::make_shared<StreamParts>(content_of(*build_index(source, {{}, -1, false})));
  ASSERT_EQ(parts->plan.size(), 2u);
  FrameCursor cursor(source, plain());
  PacketFilter filter;
  std::int64_t skipped = 0;
  filter.skips = [&](std::int64_t ordinal) {
    const bool skips = parts->content->table[ordinal].disposable;
    skipped += skips;
    return skips;
  };
  filter.last = 23;
  cursor.start_at(0, parts->content->table, filter);
  std::int64_t given = 0;
  while (cursor.next()) ++given;
  EXPECT_GT(skipped, 12);
  EXPECT_EQ(given + skipped, 24);
  EXPECT_EQ(cursor.position(), 24);
  const SpanJob job = jobs_for(*parts->content, parts->plan, {4}).at(0);
  EXPECT_EQ(job.last, parts->content->frame(4).ordinal);
  LinearReader lane(source, plain());
  std::vector<std::int64_t> frames;
  SpanDecoder(cursor, parts, {}, {})
      .run(
          job, [&](const Frame& frame) { frames.push_back(frame.index); },
          [&]() -> LinearReader& { return lane; });
  EXPECT_EQ(frames, std::vector<std::int64_t>{4});
  EXPECT_LE(cursor.position(), job.last + 1);
  EXPECT_EQ(parts->trust.level(0), SpanTrust::own_start);
}

// Concealed pictures are those of one decoder that came from the beginning. (By one thread: what FFmpeg's
// frame threads make of damage differs from run to run.)
TEST_F(Parallel, DamageFallsBackToTheBeginning) {
  std::string bytes = test::bytes_of(test::make_clip(folder_ / "a.mp4", 80));
  const auto clean = content_of(*build_index(open_path(folder_ / "a.mp4"), {{}, -1, false}));
  for (const std::int64_t ordinal : {20, 21, 50}) {
    const PacketEntry& packet = clean->table[ordinal];
    for (std::size_t i = packet.size / 2; i < packet.size; ++i)
      bytes[static_cast<std::size_t>(packet.pos) + i] ^= '\x5a';
  }
  const auto source = [&] { return open_bytes(std::as_bytes(std::span(bytes))); };
  const auto by_one_thread = [](int decoders) {
    VideoReaderOptions options = plain(decoders);
    options.decoder.threads = 1;
    return options;
  };
  VideoReader linear(source(), by_one_thread(1));
  std::vector<std::uint32_t> expected;
  while (const auto frame = linear.next()) expected.push_back(test::frame_checksum(frame->image));
  ASSERT_GT(expected.size(), 60u);
  for (const int decoders : {2, 4}) {
    ParallelDecoder decoder(source(), by_one_thread(decoders));
    std::vector<std::uint32_t> found;
    while (const auto frame = decoder.next()) found.push_back(test::frame_checksum(frame->image));
    EXPECT_EQ(found, expected);
    VideoReader reader(source(), by_one_thread(decoders));
    ASSERT_EQ(reader.size(), static_cast<std::int64_t>(expected.size()));
    std::vector<std::int64_t> all;
    for (std::int64_t i = reader.size(); i-- > 0;) all.push_back(i);
    const auto frames = reader.at(all);
    for (std::size_t k = 0; k < all.size(); ++k)
      EXPECT_EQ(test::frame_checksum(frames[k].image), expected[static_cast<std::size_t>(all[k])]) << all[k];
  }
}

TEST_F(Parallel, SizeWhileWorkingAhead) {
  const auto path = test::make_clip(folder_ / "a.264", 60); // Counting decodes.
  VideoReaderOptions options = plain(1);
  options.prefetch = 5;
  VideoReader reader(open_path(path), options);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(reader.next().value().index, i);
  EXPECT_EQ(reader.size(), 60);
  for (int i = 10; i < 60; ++i) EXPECT_EQ(reader.next().value().index, i);
  EXPECT_FALSE(reader.next());
}

// --- What the threads make of frames ---

TEST_F(Parallel, ConvertsAndPreprocesses) {
  const auto path = test::make_clip(folder_ / "a.mp4", 30);
  VideoReader plain_reader(open_path(path), plain());
  const Frame frame = plain_reader.at(7);
  VideoReaderOptions options = plain();
  options.format = PixelFormat::rgb24;
  Image expected = Image::allocate(PixelFormat::rgb24, frame.image.width, frame.image.height);
  convert_image(frame.image, expected);
  const std::vector<std::int64_t> wanted{7, 22};
  VideoReader converting(open_path(path), options);
  EXPECT_EQ(test::frame_checksum(converting.at(wanted)[0].image), test::frame_checksum(expected));
  EXPECT_EQ(test::frame_checksum(converting.at(7).image), test::frame_checksum(expected));
  options.preprocess = Preprocess::preset("imagenet");
  options.preprocess->width = options.preprocess->height = 32;
  VideoReader preparing(open_path(path), options);
  const Tensor tensor = to_tensor(frame.image, *options.preprocess);
  for (const Frame& prepared : {preparing.at(wanted)[0], preparing.at(7)}) {
    EXPECT_EQ(test::frame_checksum(prepared.image), test::frame_checksum(expected));
    EXPECT_EQ(prepared.index, 7);
    ASSERT_EQ(prepared.tensor.shape(), tensor.shape());
    EXPECT_EQ(std::memcmp(prepared.tensor.data(), tensor.data(), tensor.bytes()), 0);
  }
}

TEST_F(Parallel, BatchHoldsFramesInTheirOrder) {
  const auto path = test::make_clip(folder_ / "a.mp4", 60);
  Preprocess spec = Preprocess::preset("none");
  spec.width = 24;
  spec.height = 16;
  for (const int decoders : {1, 3}) {
    VideoReader reader(open_path(path), plain(decoders));
    const std::vector<std::int64_t> wanted{50, 3, 3, 27};
    const Tensor batch = reader.batch(wanted, spec);
    ASSERT_EQ(batch.shape(), (Shape{4, 3, 16, 24}));
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      const Tensor one = to_tensor(reader.at(wanted[k]).image, spec);
      EXPECT_EQ(
          std::memcmp(static_cast<const std::byte*>(batch.data()) + k * one.bytes(), one.data(), one.bytes()),
          0)
          << wanted[k];
    }
    EXPECT_EQ(reader.batch(std::vector<std::int64_t>{}, spec).shape(), (Shape{0, 3, 16, 24}));
  }
}

TEST_F(Parallel, BatchOfUnequalFrames) {
  EncoderOptions small, large;
  small.width = 64, small.height = 48;
  large.width = 96, large.height = 80;
  const std::string bytes = test::bytes_of(test::make_clip(folder_ / "a.264", 10, small)) +
                            test::bytes_of(test::make_clip(folder_ / "b.264", 10, large));
  VideoReader reader(open_bytes(std::as_bytes(std::span(bytes))), plain(1));
  ASSERT_EQ(reader.size(), 20);
  const std::vector<std::int64_t> wanted{2, 15};
  LANNER_EXPECT_ERROR(reader.batch(wanted, {}), ErrorCode::invalid_argument, "64x48");
  LANNER_EXPECT_ERROR(reader.batch(wanted, {}), ErrorCode::invalid_argument, "96x80");
  Preprocess sized;
  sized.width = 32;
  sized.height = 32;
  EXPECT_EQ(reader.batch(wanted, sized).shape(), (Shape{2, 3, 32, 32}));
}

// --- Sampling ---

TEST_F(Parallel, FramesByTime) {
  EncoderOptions options;
  options.width = 64;
  options.height = 48;
  options.time_base = {1, 1000};
  VideoWriter writer((folder_ / "v.mp4").string(), options);
  for (const std::int64_t pts : {0, 40, 100, 1000, 1500, 2000})
    writer.write(test::pattern(PixelFormat::rgb24, 64, 48, static_cast<int>(pts)), pts);
  writer.finish();
  VideoReader reader(open_path(folder_ / "v.mp4"), plain());
  EXPECT_EQ(reader.index_at(0), 0);
  EXPECT_EQ(reader.index_at(0.039), 0);
  EXPECT_EQ(reader.index_at(0.04), 1);
  EXPECT_EQ(reader.index_at(0.9), 2);
  EXPECT_EQ(reader.index_at(2.0), 5);
  LANNER_EXPECT_ERROR(reader.index_at(-0.01), ErrorCode::invalid_argument, "plays from 0 s");
  LANNER_EXPECT_ERROR(reader.index_at(60), ErrorCode::invalid_argument, "plays from 0 s");
  LANNER_EXPECT_ERROR(reader.index_at(NAN), ErrorCode::invalid_argument, "");
  using Indices = std::vector<std::int64_t>;
  EXPECT_EQ(reader.indices_played_in(0.05, 1.2), (Indices{1, 2, 3}));
  EXPECT_EQ(reader.indices_played_in(0.04, 0.1), Indices{1});
  EXPECT_EQ(reader.indices_played_in(0.1, 0.1), Indices{});
  EXPECT_EQ(reader.indices_played_in(-5, 0.01), Indices{0});
  EXPECT_EQ(reader.indices_played_in(50, 60), Indices{});
  LANNER_EXPECT_ERROR(reader.indices_played_in(2, 1), ErrorCode::invalid_argument, "range");
  const Indices twice = reader.sample(Rational{2, 1});
  ASSERT_GE(twice.size(), 5u);
  EXPECT_EQ((Indices{twice.begin(), twice.begin() + 5}), (Indices{0, 2, 3, 4, 5}));
  LANNER_EXPECT_ERROR(reader.sample(Rational{0, 1}), ErrorCode::invalid_argument, "rate");
}

TEST_F(Parallel, MiddleFramesOfEqualParts) {
  VideoReader reader(open_path(test::make_clip(folder_ / "a.mp4", 20)), plain());
  using Indices = std::vector<std::int64_t>;
  EXPECT_EQ(reader.sample(4), (Indices{2, 7, 12, 17}));
  EXPECT_EQ(reader.sample(1), Indices{10});
  EXPECT_EQ(reader.sample(0), Indices{});
  EXPECT_EQ(reader.sample(20).back(), 19);
  EXPECT_EQ(reader.sample(40).size(), 40u);
  LANNER_EXPECT_ERROR(reader.sample(-1), ErrorCode::invalid_argument, "sample");
}

} // namespace
} // namespace lanner
