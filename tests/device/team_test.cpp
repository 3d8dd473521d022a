#include "device/team.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace lanner {
namespace {

template<typename Body>
void in_team(int threads, Body body) {
  run_team(
      threads, [](void* argument) { (*static_cast<Body*>(argument))(); }, &body);
}

TEST(Team, GivesEachThreadAPlace) {
  for (const int threads : {1, 2, 5, 3}) {
    std::vector<std::atomic<int>> hits(static_cast<std::size_t>(threads));
    in_team(threads, [&] {
      const TeamPlace place = team_place();
      EXPECT_EQ(place.size, threads);
      EXPECT_EQ(place.inside, threads > 1);
      ++hits[static_cast<std::size_t>(place.number)];
    });
    for (const auto& hit : hits) EXPECT_EQ(hit, 1);
    EXPECT_FALSE(team_place().inside);
  }
}

TEST(Team, NestedRegionsRunOnTheCallerAlone) {
  std::atomic<int> inner{0};
  in_team(3, [&] {
    const auto caller = std::this_thread::get_id();
    in_team(4, [&] {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      EXPECT_EQ(team_place().size, 1);
      ++inner;
    });
    EXPECT_EQ(team_place().size, 3);
  });
  EXPECT_EQ(inner, 3);
}

TEST(Team, BarriersHoldEveryoneBack) {
  std::atomic<int> before{0}, early{0};
  in_team(4, [&] {
    for (int round = 1; round <= 50; ++round) {
      ++before;
      team_barrier();
      early += before < 4 * round;
      team_barrier();
    }
  });
  EXPECT_EQ(early, 0);
  EXPECT_EQ(before, 200);
}

// Longer than threads look for work, so that they have to be woken.
TEST(Team, WakesThreadsThatSleep) {
  std::atomic<int> calls{0};
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    in_team(3, [&] { ++calls; });
  }
  EXPECT_EQ(calls, 15);
}

TEST(Team, WaitsForThreadsThatTakeLonger) {
  std::atomic<int> ended{0};
  in_team(3, [&] {
    if (team_place().number > 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(3 * team_place().number));
    ++ended;
  });
  EXPECT_EQ(ended, 3);
}

TEST(Team, EachCallerHasItsOwn) {
  std::atomic<int> calls{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&] {
      for (int j = 0; j < 200; ++j) in_team(2 + j % 3, [&] { ++calls; });
    });
  for (std::thread& caller : callers) caller.join();
  int expected = 0;
  for (int j = 0; j < 200; ++j) expected += 4 * (2 + j % 3);
  EXPECT_EQ(calls, expected);
}

TEST(Team, ReservedThreadsAreThere) {
  EXPECT_TRUE(reserve_team(1));
  EXPECT_TRUE(reserve_team(6));
  std::atomic<int> calls{0};
  in_team(6, [&] { ++calls; });
  EXPECT_EQ(calls, 6);
}

// What the system refuses is neither waited for nor a fault. A child, for the limit holds for the whole
// process.
TEST(Team, MakesDoWithFewerThreads) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers end a process that is refused memory";
#endif
  const pid_t child = ::fork();
  if (child == 0) {
    long pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t most = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE)) + (rlim_t{100} << 20U);
    const rlimit limit{most, most};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) ::_exit(2);
    const bool enough = reserve_team(4000); // Of some megabytes of stack each.
    std::atomic<int> calls{0}, size{0};
    in_team(4000, [&] {
      size = team_place().size;
      ++calls;
    });
    ::_exit(!enough && calls == size && size < 4000 ? 7 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
}

TEST(Team, ForksAreCounted) {
  const unsigned before = forks_seen();
  const pid_t child = ::fork();
  if (child == 0) {
    std::atomic<int> calls{0};
    for (int i = 0; i < 3; ++i) in_team(3, [&] { ++calls; });
    ::_exit(forks_seen() == before + 1 && calls == 9 ? 7 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  EXPECT_EQ(forks_seen(), before);
}

} // namespace
} // namespace lanner
