#include "device/core_share.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "device/cpu_clock.h"
#include "device/team.h"

namespace lanner {
namespace {

/// Uses CPU time: the wall time depends on what else runs.
void work_for(double seconds) {
  for (const double end = seconds_of(CLOCK_THREAD_CPUTIME_ID) + seconds;
       seconds_of(CLOCK_THREAD_CPUTIME_ID) < end;) {
  }
}

/// The number of threads that run one region of `shares` slow shares.
std::size_t threads_of_a_region(int shares) {
  struct Seen {
    std::mutex mutex;
    std::set<std::thread::id> threads;
  } seen;
  run_pieces(
      shares, 1,
      [](void* argument, int, int) {
        work_for(2e-3);
        auto& into = *static_cast<Seen*>(argument);
        const std::lock_guard lock(into.mutex);
        into.threads.insert(std::this_thread::get_id());
      },
      &seen);
  return seen.threads.size();
}

TEST(CoreShare, ThreadsAreLimitedToTheRemainingCores) {
  EXPECT_EQ(threads_beside(8, 0), 8);
  EXPECT_EQ(threads_beside(8, 0.05), 8);
  EXPECT_EQ(threads_beside(8, 0.5), 8);
  EXPECT_EQ(threads_beside(8, 2.95), 5);
  EXPECT_EQ(threads_beside(8, 3.4), 5);
  EXPECT_EQ(threads_beside(2, 1.2), 1);
  EXPECT_EQ(threads_beside(2, 5), 1);
  EXPECT_EQ(threads_beside(1, 0), 1);
  EXPECT_EQ(threads_beside(4, -0.3),
            4); // Clocks are read one after the other, so the difference may be negative.
}

TEST(CoreShare, LimitedTeamRunsAllSharesOnFewerThreads) {
  std::thread([] {
    ASSERT_TRUE(reserve_team(4));
    limit_team(2);
    for (int i = 0; i < 20; ++i) EXPECT_LE(threads_of_a_region(8), 2U);
    limit_team(1);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(threads_of_a_region(8), 1U);
  }).join();
}

TEST(CoreShare, RemovingTheLimitRestoresThreads) {
  std::thread([] {
    ASSERT_TRUE(reserve_team(4));
    limit_team(1);
    EXPECT_EQ(threads_of_a_region(8), 1U);
    limit_team(0);
    std::size_t most = 1;
    for (int i = 0; i < 2000 && most == 1; ++i) most = std::max(most, threads_of_a_region(64));
    EXPECT_GT(most, 1U);
  }).join();
}

// Shares that wait for each other need their threads, whatever the limit.
TEST(CoreShare, DependentSharesIgnoreTheLimit) {
  std::thread([] {
    limit_team(1);
    std::atomic<int> through{0};
    run_team(
        4, Shares::apart,
        [](void* argument) {
          team_barrier();
          ++*static_cast<std::atomic<int>*>(argument);
        },
        &through);
    EXPECT_EQ(through, 4);
  }).join();
}

TEST(CoreShare, TeamSecondsCountOnlyItsThreads) {
  std::thread([] {
    const double before = team_seconds();
    threads_of_a_region(50);
    EXPECT_GT(team_seconds() - before, 0.02);
    const double then = team_seconds();
    std::thread([] { work_for(0.2); }).join(); // Of another thread.
    EXPECT_LT(team_seconds() - then, 0.1);
  }).join();
}

TEST(CoreShare, EndingTeamEndsItsSleepingThreads) {
  for (int i = 0; i < 50; ++i)
    std::thread([] {
      ASSERT_TRUE(reserve_team(4));
      limit_team(1);
      EXPECT_EQ(threads_of_a_region(4), 1U);
    }).join();
}

} // namespace
} // namespace lanner
