// A task that is handed to a pool runs once, by the pool or by who waits for it, or not at all.

#include "base/threads/handed_task.h"

#include <atomic>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace lanner {
namespace {

/// A pool of one thread, which is kept busy until release().
class BusyPool {
public:
  BusyPool() {
    pool.submit([this, end = end_.get_future().share()] {
      begun_.set_value();
      end.wait();
    });
    begun_.get_future().wait();
  }
  ~BusyPool() { release(); }
  void release() {
    if (!std::exchange(released_, true)) end_.set_value();
  }

private:
  std::promise<void> begun_, end_;
  bool released_ = false;

public:
  ThreadPool pool{1, 100};
};

TEST(HandedTask, RunsHereWhereThePoolIsBusyAndOnlyOnce) {
  BusyPool busy;
  std::atomic<int> runs = 0;
  std::thread::id on;
  HandedTask task;
  task.hand(busy.pool, [&] { ++runs, on = std::this_thread::get_id(); });
  EXPECT_TRUE(task.pending());
  task.finish();
  EXPECT_FALSE(task.pending());
  EXPECT_EQ(on, std::this_thread::get_id());
  busy.release();
  busy.pool.wait();
  EXPECT_EQ(runs, 1);
}

TEST(HandedTask, RunsOnThePoolWhereItIsFree) {
  ThreadPool pool(1, 1);
  std::promise<void> begun, end;
  std::thread::id on;
  HandedTask task;
  task.hand(pool, [&] {
    on = std::this_thread::get_id();
    begun.set_value();
    end.get_future().wait();
  });
  begun.get_future().wait();
  EXPECT_TRUE(task.running());
  end.set_value();
  task.finish();
  EXPECT_FALSE(task.running());
  EXPECT_NE(on, std::this_thread::get_id());
}

TEST(HandedTask, IsNotRunOnceItWasTakenBack) {
  BusyPool busy;
  std::atomic<int> runs = 0;
  {
    HandedTask dropped;
    dropped.hand(busy.pool, [&] { ++runs; });
  }
  HandedTask task;
  task.hand(busy.pool, [&] { ++runs; });
  task.take_back();
  task.finish();
  busy.release();
  busy.pool.wait();
  EXPECT_EQ(runs, 0);
}

TEST(HandedTask, ManyFromManyThreadsRunOnceEach) {
  ThreadPool pool(2, 8);
  std::atomic<int> runs = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      HandedTask task;
      for (int i = 0; i < 300; ++i) {
        int mine = 0;
        task.hand(pool, [&] { ++runs, ++mine; });
        task.finish();
        ASSERT_EQ(mine, 1);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(runs, 900);
}

} // namespace
} // namespace lanner
