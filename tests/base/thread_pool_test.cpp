#include "base/threads/thread_pool.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "base/threads/queue.h"
#include "expect_error.h"

namespace lanner {
namespace {

TEST(ThreadPool, RunsEverythingSubmitted) {
  ThreadPool pool(3, 2, "a name far longer than the system keeps");
  std::atomic<int> sum{0};
  for (int i = 1; i <= 100; ++i) pool.submit([&sum, i] { sum += i; });
  pool.wait();
  EXPECT_EQ(sum, 5050);
  EXPECT_EQ(pool.threads(), 3u);
}

TEST(ThreadPool, WaitRethrowsOnce) {
  ThreadPool pool(2, 4);
  std::atomic<int> finished{0};
  pool.submit([] { throw Error(ErrorCode::bad_data, "frame 3"); });
  for (int i = 0; i < 5; ++i) pool.submit([&] { ++finished; });
  LANNER_EXPECT_ERROR(pool.wait(), ErrorCode::bad_data, "frame 3");
  EXPECT_EQ(finished, 5);
  EXPECT_NO_THROW(pool.wait());
}

TEST(ThreadPool, DestructorDropsQueuedTasks) {
  std::atomic<bool> started{false}, release{false};
  std::atomic<int> ran{0};
  std::thread opener;
  {
    ThreadPool pool(1, 8);
    pool.submit([&] {
      started = true;
      started.notify_all();
      release.wait(false);
      ++ran;
    });
    const auto held = std::make_shared<int>(0);
    const std::weak_ptr<int> watch = held;
    pool.submit([held, &ran] { ++ran; });
    started.wait(false);
    opener = std::thread([&release, watch] {
      // The second task holds it until the destructor drops that task.
      while (!watch.expired()) std::this_thread::yield();
      release = true;
      release.notify_all();
    });
  }
  opener.join();
  EXPECT_EQ(ran, 1);
}

TEST(ThreadPool, RefusesNoThreads) {
  LANNER_EXPECT_ERROR(ThreadPool(0, 1), ErrorCode::invalid_argument, "0 threads");
}

TEST(ThreadPool, ForkedChildMayDestroyIt) {
  auto pool = std::make_unique<ThreadPool>(2, 4);
  const pid_t child = ::fork();
  if (child == 0) {
    pool.reset();
    ::_exit(7);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

TEST(BoundedQueue, KeepsOrderAndBound) {
  BoundedQueue<int> queue(2);
  std::thread producer([&] {
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(queue.push(i));
    queue.close();
  });
  int expected = 0;
  while (const auto item = queue.pop()) {
    EXPECT_LE(queue.size(), 2u);
    EXPECT_EQ(*item, expected++);
  }
  producer.join();
  EXPECT_EQ(expected, 1000);
}

TEST(BoundedQueue, CloseKeepsQueuedItems) {
  BoundedQueue<int> queue(4);
  EXPECT_TRUE(queue.push(1));
  queue.close();
  EXPECT_FALSE(queue.push(2));
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_EQ(queue.pop(), std::nullopt);
}

TEST(BoundedQueue, AbortWakesWaiters) {
  BoundedQueue<int> queue(1);
  EXPECT_TRUE(queue.push(1));
  std::thread blocked([&] { LANNER_EXPECT_ERROR(queue.push(2), ErrorCode::device, "lost"); });
  queue.abort(std::make_exception_ptr(Error(ErrorCode::device, "lost")));
  queue.abort(std::make_exception_ptr(Error(ErrorCode::internal, "later")));
  blocked.join();
  LANNER_EXPECT_ERROR(queue.pop(), ErrorCode::device, "lost");
  EXPECT_EQ(queue.size(), 0u);
}

TEST(BoundedQueue, CancelWakesWaiters) {
  const CancelToken cancel = CancelToken::create();
  BoundedQueue<int> queue(1, cancel);
  std::thread blocked([&] { LANNER_EXPECT_ERROR(queue.pop(), ErrorCode::cancelled, "cancelled"); });
  cancel.cancel();
  blocked.join();
}

} // namespace
} // namespace lanner
