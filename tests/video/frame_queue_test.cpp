// Frames of several producers, put back in order within a bound.

#include "video/read/frame_queue.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "asleep.h"
#include "expect_error.h"

namespace lanner {
namespace {

Frame frame(std::int64_t index, std::int32_t rows = 4) {
  Frame result;
  result.image = Image::allocate(PixelFormat::gray8, 64, rows);
  result.index = index;
  return result;
}
constexpr std::uint64_t frame_size = 64 * 4;

TEST(FrameQueue, OrderOfSlots) {
  FrameQueue queue(3, {}, {});
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(queue.claim(), i);
  EXPECT_FALSE(queue.claim());
  queue.put(2, frame(4));
  queue.put(0, frame(0));
  queue.put(0, frame(1));
  queue.finish(0);
  queue.finish(1); // Nothing in it.
  queue.finish(2);
  for (const std::int64_t i : {0, 1, 4}) EXPECT_EQ(queue.next()->index, i);
  EXPECT_FALSE(queue.next());
  EXPECT_FALSE(queue.next());
  EXPECT_EQ(queue.bytes(), 0u);
}

// Whoever asks for room first makes no frame that has to wait.
TEST(FrameQueue, RoomIsWaitedFor) {
  FrameQueue queue(1, {2 * frame_size, SIZE_MAX}, {});
  const std::size_t slot = queue.claim().value();
  std::atomic<int> made = 0;
  std::thread producer([&] {
    for (int i = 0; i < 6; ++i) {
      queue.wait_for_room(slot, frame_size);
      ++made;
      queue.put(slot, frame(i));
    }
    queue.finish(slot);
  });
  for (int i = 0; i < 6; ++i) {
    const auto next = queue.next();
    ASSERT_TRUE(next);
    EXPECT_EQ(next->index, i);
    EXPECT_LE(made, i + 3) << "one that was taken, and two that wait";
  }
  EXPECT_FALSE(queue.next());
  producer.join();
  FrameQueue stopped(1, {frame_size, SIZE_MAX}, {});
  stopped.put(stopped.claim().value(), frame(0));
  std::thread waiting([&] { EXPECT_THROW(stopped.wait_for_room(0, frame_size), Error); });
  stopped.stop();
  waiting.join();
}

// Two producers, the later one quick: bytes that wait never pass the bound by more than a frame, and the
// oldest slot goes on all the same.
TEST(FrameQueue, BoundHolds) {
  constexpr std::int64_t frames = 50;
  constexpr std::uint64_t bound = 5 * frame_size;
  FrameQueue queue(2, {bound, SIZE_MAX}, {});
  std::uint64_t most = 0;
  std::vector<std::thread> producers;
  for (int producer = 0; producer < 2; ++producer) {
    const std::size_t slot = queue.claim().value();
    producers.emplace_back([&queue, slot] {
      for (std::int64_t i = 0; i < frames; ++i)
        queue.put(slot, frame(static_cast<std::int64_t>(slot) * frames + i));
      queue.finish(slot);
    });
  }
  for (std::int64_t i = 0; i < 2 * frames; ++i) {
    most = std::max(most, queue.bytes());
    const auto next = queue.next();
    ASSERT_TRUE(next);
    EXPECT_EQ(next->index, i);
  }
  EXPECT_FALSE(queue.next());
  for (std::thread& producer : producers) producer.join();
  EXPECT_LE(most, bound + frame_size);
  EXPECT_GT(most, 0u);
}

TEST(FrameQueue, BoundOfFrames) {
  FrameQueue queue(1, {UINT64_MAX, 2}, {});
  const std::size_t slot = queue.claim().value();
  std::thread producer([&] {
    for (std::int64_t i = 0; i < 20; ++i) queue.put(slot, frame(i));
    queue.finish(slot);
  });
  for (std::int64_t i = 0; i < 20; ++i) {
    EXPECT_LE(queue.bytes(), 2 * frame_size);
    EXPECT_EQ(queue.next()->index, i);
  }
  producer.join();
}

TEST(FrameQueue, ErrorsComeInOrder) {
  FrameQueue queue(3, {}, {});
  for (int i = 0; i < 2; ++i) queue.claim();
  queue.fail(1, std::make_exception_ptr(Error(ErrorCode::io, "the disk is gone")));
  EXPECT_FALSE(queue.claim()) << "no work behind an error";
  queue.put(0, frame(0));
  queue.finish(0);
  EXPECT_EQ(queue.next()->index, 0);
  LANNER_EXPECT_ERROR(queue.next(), ErrorCode::io, "the disk is gone");
}

TEST(FrameQueue, StopEndsEveryWait) {
  FrameQueue queue(2, {frame_size, SIZE_MAX}, {});
  queue.claim();
  queue.claim();
  queue.put(0, frame(0));
  test::ThreadNumber room, turn;
  std::thread waits_for_room([&] {
    room.tell();
    EXPECT_THROW(queue.put(1, frame(1)), Error);
  });
  std::thread waits_for_turn([&] {
    turn.tell();
    EXPECT_THROW(queue.wait_for_turn(1), Error);
  });
  test::wait_until_asleep(room.get());
  test::wait_until_asleep(turn.get());
  queue.stop();
  waits_for_room.join();
  waits_for_turn.join();
  EXPECT_EQ(queue.bytes(), 0u);
}

TEST(FrameQueue, CancellingEndsTheConsumersWait) {
  const CancelToken cancel = CancelToken::create();
  FrameQueue queue(1, {}, cancel);
  queue.claim();
  std::thread canceller([&, consumer = ::gettid()] {
    test::wait_until_asleep(consumer);
    cancel.cancel();
  });
  LANNER_EXPECT_ERROR(queue.next(), ErrorCode::cancelled, "");
  canceller.join();
}

} // namespace
} // namespace lanner
