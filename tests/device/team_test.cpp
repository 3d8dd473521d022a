#include "device/team.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lanner/threads.h>

#include "device/cpu.h"
#include "device/parallel.h"
#include "expect_error.h"
#include "sanitized.h"

namespace lanner {
namespace {

template<typename Body>
void in_team(int threads, Body body, Shares kind = Shares::apart) {
  run_team(
      threads, kind, [](void* argument) { (*static_cast<Body*>(argument))(); }, &body);
}

TEST(Team, EachShareHasADistinctNumber) {
  for (const int threads : {1, 2, 5, 3}) {
    std::vector<std::atomic<int>> hits(static_cast<std::size_t>(threads));
    in_team(threads, [&] {
      const TeamShare share = team_share();
      EXPECT_EQ(share.size, threads);
      EXPECT_EQ(share.inside, threads > 1);
      ++hits[static_cast<std::size_t>(share.number)];
    });
    for (const auto& hit : hits) EXPECT_EQ(hit, 1);
    EXPECT_FALSE(team_share().inside);
  }
}

TEST(Team, NestedRegionsRunOnTheCallerAlone) {
  std::atomic<int> inner{0};
  in_team(3, [&] {
    const auto caller = std::this_thread::get_id();
    in_team(4, [&] {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      EXPECT_EQ(team_share().size, 1);
      ++inner;
    });
    EXPECT_EQ(team_share().size, 3);
  });
  EXPECT_EQ(inner, 3);
}

TEST(Team, BarrierWaitsForAllShares) {
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

// A thread of a process that is restricted to one core while it runs has no use for helpers.
TEST(Team, UsesFewerThreadsWhenAffinityShrinks) {
  if (usable_cores() < 2) GTEST_SKIP() << "one core: there are no fewer";
  std::thread caller([] {
    const auto helped = [] {
      std::set<std::thread::id> threads;
      std::mutex mutex;
      in_team(
          2,
          [&] {
            {
              const std::lock_guard lock(mutex);
              threads.insert(std::this_thread::get_id());
            }
            std::this_thread::sleep_for(std::chrono::microseconds(20)); // Else the caller takes both.
          },
          Shares::free);
      return threads.size() > 1;
    };
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!helped()) ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "nobody helped";
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(::sched_getcpu()), &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    for (int alone = 0; alone < 2000; alone = helped() ? 0 : alone + 1)
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "helpers go on";
  });
  caller.join();
}

// Longer than threads spin, so that they have to be woken.
TEST(Team, SleepingThreadsAreWoken) {
  std::atomic<int> calls{0};
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    in_team(3, [&] { ++calls; });
  }
  EXPECT_EQ(calls, 15);
}

TEST(Team, WaitsForSlowThreads) {
  std::atomic<int> ended{0};
  in_team(3, [&] {
    if (team_share().number > 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(3 * team_share().number));
    ++ended;
  });
  EXPECT_EQ(ended, 3);
}

TEST(Team, EachCallerHasItsOwnTeam) {
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

TEST(Team, ReservedThreadsExist) {
  EXPECT_TRUE(reserve_team(1));
  EXPECT_TRUE(reserve_team(6));
  std::atomic<int> calls{0};
  in_team(6, [&] { ++calls; });
  EXPECT_EQ(calls, 6);
}

// Threads that the system refuses are neither waited for nor an error. In a child, as the limit applies to
// the whole process.
TEST(Team, RunsWithFewerThreadsWhenTheSystemRefusesMore) {
  if (test::sanitized) GTEST_SKIP() << "sanitizers end a process that is refused memory";
  const pid_t child = ::fork();
  if (child == 0) {
    long pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t most = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE)) + (rlim_t{100} << 20U);
    const rlimit limit{most, most};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) ::_exit(2);
    const bool enough = reserve_team(4000); // Each with some megabytes of stack.
    std::atomic<int> calls{0}, size{0};
    in_team(4000, [&] {
      size = team_share().size;
      ++calls;
    });
    ::_exit(!enough && calls == size && size < 4000 ? 7 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
}

// Each piece of each share runs exactly once, however many threads there are.
TEST(Team, FreeSharesRunExactlyOnce) {
  for (int i = 0; i < 2000; ++i) {
    const int shares = 2 + i % 7, pieces = 1 + i % 5;
    std::vector<std::atomic<int>> hits(static_cast<std::size_t>(shares * pieces));
    struct Call {
      std::vector<std::atomic<int>>& hits;
      int pieces;
      std::atomic<int> misplaced{0};
    } call{hits, pieces};
    run_pieces(
        shares, pieces,
        [](void* argument, int share, int piece) {
          Call& of = *static_cast<Call*>(argument);
          of.misplaced += team_share().number != share || !team_share().inside;
          ++of.hits[static_cast<std::size_t>(share * of.pieces + piece)];
        },
        &call);
    ASSERT_EQ(call.misplaced, 0);
    for (const auto& hit : hits) ASSERT_EQ(hit, 1) << shares << " shares of " << pieces << " pieces";
  }
}

TEST(Team, FreeSharesMayOutnumberThreads) {
  std::atomic<int> calls{0};
  in_team(
      20000, [&] { calls += team_share().size == 20000; }, Shares::free);
  EXPECT_EQ(calls, 20000);
}

/// Threads starved by other work on their shared core, while the caller has another core.
class Starved {
public:
  /// Starves the threads that `make` starts. Gives the reason where that is not possible.
  template<typename Make>
  explicit Starved(Make make) {
    if (std::thread::hardware_concurrency() < 2) {
      reason_ = "there is one core";
      return;
    }
    const std::set<pid_t> before = threads();
    make();
    pin(0, 1);
    for (const pid_t thread : threads()) {
      if (before.contains(thread)) continue;
      const sched_param none{};
      if (!pin(thread, 0) || ::sched_setscheduler(thread, SCHED_IDLE, &none) != 0)
        reason_ = "the system does not let threads be held back";
    }
    for (int i = 0; i < 3; ++i)
      busy_.emplace_back([this](const std::stop_token& stop) {
        pin(0, 0);
        ++started_;
        while (!stop.stop_requested()) {
        }
      });
    while (started_ < 3) std::this_thread::yield();
  }
  ~Starved() { ::sched_setaffinity(0, sizeof all_, &all_); }
  const std::string& reason() const { return reason_; }

private:
  static std::set<pid_t> threads() {
    std::set<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
      found.insert(std::stoi(entry.path().filename()));
    return found;
  }
  static cpu_set_t usable() {
    cpu_set_t set;
    ::sched_getaffinity(0, sizeof set, &set);
    return set;
  }
  /// Pins to the `number`th core that the process may use.
  static bool pin(pid_t thread, int number) {
    static const cpu_set_t cores = usable();
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &cores) && number-- == 0) CPU_SET(core, &one);
    return ::sched_setaffinity(thread, sizeof one, &one) == 0;
  }

  cpu_set_t all_ = usable();
  std::string reason_;
  std::atomic<int> started_{0};
  std::vector<std::jthread> busy_;
};

// Threads left from earlier tests, which are not starved, would be helpers of the caller's team.
TEST(Team, DoesNotWaitForAThreadWithoutACore) {
  std::atomic<int> calls{0}, own{0};
  std::string reason;
  std::thread([&] {
    const Starved starved([] { in_team(3, [] {}); });
    reason = starved.reason();
    const auto caller = std::this_thread::get_id();
    for (int i = 0; i < 20000 && reason.empty(); ++i)
      in_team(
          3,
          [&] {
            ++calls;
            own += std::this_thread::get_id() == caller;
          },
          Shares::free);
  }).join();
  if (!reason.empty()) GTEST_SKIP() << reason;
  EXPECT_EQ(calls, 60000);
  EXPECT_GT(own, 30000) << "the others had no core";
}

std::size_t threads_of_teams() {
  std::size_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    count += name == "lanner-team";
  }
  return count;
}

TEST(Team, ThreadsEndWithTheLastTeamsNeededAndRestart) {
  for (int turn = 0; turn < 3; ++turn) {
    const TeamsNeeded first;
    {
      const TeamsNeeded second;
      in_team(3, [] {});
    }
    EXPECT_GE(threads_of_teams(), 2U) << turn;
    std::atomic<int> calls{0};
    in_team(3, [&] { ++calls; });
    EXPECT_EQ(calls, 3);
  }
  EXPECT_EQ(threads_of_teams(), 0U);
}

// A team in use is not ended; one that was ended meanwhile restarts.
TEST(Team, RestDuringARunIsSafe) {
  std::atomic<bool> done{false};
  std::jthread other([&] {
    while (!done) const TeamsNeeded briefly;
  });
  for (int i = 0; i < 300; ++i) {
    std::atomic<int> calls{0};
    in_team(3, [&] { ++calls; });
    ASSERT_EQ(calls, 3);
  }
  done = true;
}

/// An executor that runs pieces in reverse order, every second one on a thread of its own.
struct OtherPool {
  std::atomic<int> pieces{0};
  Executor executor{this, [](void* user, int count, void (*piece)(void*, int), void* argument) {
                      static_cast<OtherPool*>(user)->pieces += count;
                      std::vector<std::jthread> threads;
                      for (int i = count - 1; i >= 0; --i)
                        if (i % 2)
                          threads.emplace_back([=] { piece(argument, i); });
                        else
                          piece(argument, i);
                    }};
  OtherPool() { set_executor(&executor); }
  ~OtherPool() { set_executor(nullptr); }
};

TEST(Team, LoopsRunOnTheProgramsExecutor) {
  OtherPool pool;
  std::vector<std::atomic<int>> seen(1000);
  parallel_for(3, 0, 1000, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
  });
  EXPECT_TRUE(std::ranges::all_of(seen, [](const auto& count) { return count == 1; }));
  EXPECT_GE(pool.pieces, 3);
  const int before = pool.pieces;
  in_team(
      3, [] { team_barrier(); }, Shares::apart); // These wait for each other.
  EXPECT_EQ(pool.pieces, before);
  EXPECT_THROW(parallel_for(3, 0, 1000, 1, [](std::int64_t, std::int64_t) { throw 1; }), int);
}

TEST(Team, ExecutorWithoutRunIsRefused) {
  const Executor empty;
  LANNER_EXPECT_ERROR(set_executor(&empty), ErrorCode::invalid_argument, "run is missing");
}

TEST(Threads, SetThreadsChangesTheDefault) {
  const int before = default_threads();
  EXPECT_GE(before, 1);
  set_threads(3);
  EXPECT_EQ(default_threads(), 3);
  LANNER_EXPECT_ERROR(set_threads(-1), ErrorCode::invalid_argument, "threads is -1: expected 1 to 4096");
  set_threads(0);
  EXPECT_EQ(default_threads(), before);
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
