#include "device/team.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "base/account.h"

namespace lanner {
namespace {

// Note [Spinning threads]
// A network is a chain of hundreds of loops that take microseconds each. A thread that sleeps between two of
// them is woken too late to be of use; one that spins for long takes the core from the decoder and from every
// other process. So threads look for work for a hundred microseconds and then sleep. They do not give way
// while they look: the scheduler takes sched_yield() for a wish to be last, and what comes before takes
// milliseconds. libgomp offers ten milliseconds or one microsecond, read from the environment when it is
// loaded; see docs/decisions/007-own-threads.md for what that costs.
constexpr auto spin_time = std::chrono::microseconds(100);
constexpr int most_threads = 0x1FFF; ///< Of one team: all bits that a job has for their number.
constexpr int looks_between_clocks = 64;

inline void pause_core() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/// Whether `done()` came true before the spin time was over.
template<typename Done>
bool spin_until(Done done) {
  std::chrono::steady_clock::time_point end;
  for (bool first = true;; first = false) {
    for (int i = 0; i < looks_between_clocks; ++i) {
      if (done()) return true;
      pause_core();
    }
    const auto now = std::chrono::steady_clock::now();
    if (first) end = now + spin_time;
    if (now >= end) return false;
  }
}

std::atomic<unsigned> forks{0};

/// Threads of a team block all signals: handlers of the program are not for them.
class BlockedSignals {
public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

private:
  sigset_t before_;
};

class Team {
public:
  Team() : forks_(forks) {}
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team() {
    stopping_ = true;
    publish(0);
    for (std::thread& worker : workers_) worker.join();
  }

  void run(int threads, void (*function)(void*), void* argument);
  void barrier(int size) noexcept;
  int grow(int threads);
  bool survived_fork() const noexcept { return forks_ == forks.load(std::memory_order_relaxed); }

private:
  // A job is one word, its number and how many threads take part, so that a thread that has no part in it
  // reads nothing that the caller may already be writing for the next one.
  static constexpr std::uint64_t threads_mask = most_threads;

  void publish(std::uint64_t threads);
  void serve(int number, std::uint64_t seen);
  std::uint64_t next_job(std::uint64_t seen);

  alignas(64) std::atomic<std::uint64_t> job_{0};
  std::atomic<int> sleepers_{0};
  void (*function_)(void*) = nullptr;
  void* argument_ = nullptr;
  ThreadBounds bounds_; ///< The caller's: what its helpers take counts as taken by it.
  alignas(64) std::atomic<std::uint32_t> pending_{0};
  std::atomic<bool> caller_sleeps_{false};
  alignas(64) std::atomic<int> arrived_{0};
  std::atomic<std::uint32_t> barriers_{0};
  std::atomic<bool> stopping_{false};
  unsigned forks_;
  std::vector<std::thread> workers_;
};

thread_local TeamPlace place;
thread_local Team* region = nullptr; ///< The team whose region the thread is in.

class InRegion {
public:
  InRegion(Team& team, int number, int size) {
    place = {number, size, true};
    region = &team;
  }
  ~InRegion() {
    place = {};
    region = nullptr;
  }
};

/// Threads that take part, the caller's included.
int Team::grow(int threads) {
  threads = std::clamp(threads, 1, most_threads);
  if (static_cast<int>(workers_.size()) >= threads - 1) return threads;
  const BlockedSignals blocked;
  try {
    while (static_cast<int>(workers_.size()) < threads - 1) {
      const int number = static_cast<int>(workers_.size()) + 1;
      workers_.emplace_back([this, number, seen = job_.load()] { serve(number, seen); });
    }
  } catch (const std::exception&) {
    return static_cast<int>(workers_.size()) + 1;
  }
  return threads;
}

void Team::publish(std::uint64_t threads) {
  job_ = ((job_.load(std::memory_order_relaxed) & ~threads_mask) + threads_mask + 1) | threads;
  if (sleepers_ > 0) job_.notify_all();
}

std::uint64_t Team::next_job(std::uint64_t seen) {
  const auto changed = [&] { return job_.load(std::memory_order_acquire) != seen; };
  while (!spin_until(changed)) {
    ++sleepers_;
    if (job_ == seen) job_.wait(seen);
    --sleepers_;
  }
  return job_.load(std::memory_order_acquire);
}

void Team::serve(int number, std::uint64_t seen) {
  for (;;) {
    seen = next_job(seen);
    if (stopping_) return;
    const int size = static_cast<int>(seen & threads_mask);
    if (number >= size) continue;
    {
      const InRegion in(*this, number, size);
      set_thread_bounds(bounds_);
      function_(argument_);
      set_thread_bounds({});
    }
    if (--pending_ == 0 && caller_sleeps_) pending_.notify_one();
  }
}

void Team::run(int threads, void (*function)(void*), void* argument) {
  const int size = grow(threads);
  function_ = function;
  argument_ = argument;
  bounds_ = thread_bounds();
  pending_ = static_cast<std::uint32_t>(size - 1);
  if (size > 1) publish(static_cast<std::uint64_t>(size));
  {
    const InRegion in(*this, 0, size);
    function(argument);
  }
  while (!spin_until([&] { return pending_.load(std::memory_order_acquire) == 0; })) {
    caller_sleeps_ = true;
    if (const std::uint32_t left = pending_; left > 0) pending_.wait(left);
    caller_sleeps_ = false;
  }
}

void Team::barrier(int size) noexcept {
  const std::uint32_t number = barriers_;
  if (++arrived_ == size) {
    arrived_ = 0;
    ++barriers_;
    barriers_.notify_all();
    return;
  }
  while (!spin_until([&] { return barriers_.load(std::memory_order_acquire) != number; }))
    barriers_.wait(number);
}

/// The calling thread's team, ended with it.
class OwnTeam {
public:
  ~OwnTeam() { leave_behind(); }
  Team& get() {
    forks_seen();
    leave_behind();
    if (!team_) team_ = std::make_unique<Team>();
    return *team_;
  }

private:
  /// A forked child lacks the threads: they cannot be joined, and they may have been anywhere in the team.
  void leave_behind() {
    if (team_ && !team_->survived_fork()) (void)team_.release();
  }
  std::unique_ptr<Team> team_;
};

thread_local OwnTeam own_team;

} // namespace

void run_team(int threads, void (*function)(void*), void* argument) {
  if (threads <= 1 || place.inside) {
    const TeamPlace before = place;
    place = {0, 1, before.inside};
    function(argument);
    place = before;
    return;
  }
  own_team.get().run(threads, function, argument);
}

bool reserve_team(int threads) {
  return threads <= 1 || place.inside || (threads <= most_threads && own_team.get().grow(threads) >= threads);
}

TeamPlace team_place() noexcept {
  return place;
}

void team_barrier() noexcept {
  if (region && place.size > 1) region->barrier(place.size);
}

unsigned forks_seen() noexcept {
  static const int registered = ::pthread_atfork(nullptr, nullptr, [] { ++forks; });
  (void)registered;
  return forks.load(std::memory_order_relaxed);
}

} // namespace lanner
