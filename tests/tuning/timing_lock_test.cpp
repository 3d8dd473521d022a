#include "lower/measure/timing_lock.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "expect_error.h"
#include "temporary_folder.h"

namespace lanner {
namespace {

using std::chrono::milliseconds;

/// A process that acquires the lock, reports that and holds it until it is killed.
class Holder {
public:
  explicit Holder(const std::filesystem::path& lock) {
    int ends[2];
    if (::pipe(ends) != 0) ADD_FAILURE() << "no pipe";
    child_ = ::fork();
    if (child_ == 0) {
      const TimingLock timing_lock(lock);
      static_cast<void>(!::write(ends[1], timing_lock.alone() ? "y" : "n", 1));
      for (;;) ::pause();
    }
    char said = 0;
    if (::read(ends[0], &said, 1) != 1 || said != 'y') ADD_FAILURE() << "it did not get the lock";
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ~Holder() { end(); }
  void end() {
    if (child_ < 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(std::exchange(child_, -1), nullptr, 0);
  }

private:
  pid_t child_ = -1;
};

TEST(TimingLock, IsHeldByOneThreadAtATime) {
  const TemporaryFolder folder;
  for (const std::filesystem::path& lock :
       {folder / "lock", folder / "new" / "lock", std::filesystem::path()}) {
    std::atomic<int> holders = 0, most = 0, acquired = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (int round = 0; round < 20; ++round) {
          const TimingLock timing_lock(lock);
          const int now = ++holders;
          if (now > most) most = now;
          std::this_thread::yield();
          acquired += timing_lock.alone();
          --holders;
        }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(most, 1) << lock;
    EXPECT_EQ(acquired, 80) << lock;
  }
}

TEST(TimingLock, WaitingIsEndedByCancelling) {
  const TimingLock held({});
  const CancelToken cancel = CancelToken::create();
  std::atomic<bool> cancelled = false;
  std::thread waiting([&] {
    LANNER_EXPECT_ERROR(TimingLock({}, cancel), ErrorCode::cancelled, "cancel");
    cancelled = true;
  });
  EXPECT_FALSE(cancelled);
  cancel.cancel();
  waiting.join();
  EXPECT_TRUE(cancelled);
}

TEST(TimingLock, CancelledWaiterDoesNotBlockOthers) {
  const CancelToken cancel = CancelToken::create();
  cancel.cancel();
  {
    const TimingLock held({});
    LANNER_EXPECT_ERROR(TimingLock({}, cancel), ErrorCode::cancelled, "cancel");
  }
  EXPECT_TRUE(TimingLock({}).alone());
}

TEST(TimingLock, WaiterGoesOnWithoutTheLockAfterItsTimeout) {
  const TimingLock held({});
  const TimingLock late({}, {}, milliseconds(1));
  EXPECT_FALSE(late.alone());
  EXPECT_GT(late.waited(), 0);
  EXPECT_TRUE(held.alone());
}

TEST(TimingLock, IsHeldByOneProcessAtATime) {
  const TemporaryFolder folder;
  Holder other(folder / "lock");
  EXPECT_FALSE(TimingLock(folder / "lock", {}, milliseconds(1)).alone());
  EXPECT_TRUE(TimingLock(folder / "elsewhere", {}, milliseconds(1)).alone()) << "another machine's";
  const CancelToken cancel = CancelToken::create();
  cancel.cancel();
  LANNER_EXPECT_ERROR(TimingLock(folder / "lock", cancel), ErrorCode::cancelled, "cancel");
  EXPECT_TRUE(TimingLock({}).alone()) << "a cancelled waiter is still queued";
}

TEST(TimingLock, IsReleasedWhenAProcessDies) {
  const TemporaryFolder folder;
  Holder other(folder / "lock");
  std::unique_ptr<TimingLock> timing_lock;
  std::thread waiting([&] { timing_lock = std::make_unique<TimingLock>(folder / "lock"); });
  other.end();
  waiting.join();
  EXPECT_TRUE(timing_lock->alone());
}

TEST(TimingLock, ForkedChildHasItsOwnQueue) {
  const TimingLock held({});
  const pid_t child = ::fork();
  if (child == 0) ::_exit(TimingLock({}, {}, milliseconds(1)).alone() ? 0 : 1);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(TimingLock, WorksWithoutALockableFile) {
  const TemporaryFolder folder;
  folder.write("file", "");
  EXPECT_TRUE(TimingLock(folder / "file" / "lock").alone());
}

} // namespace
} // namespace lanner
