#include "device/team.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "base/account.h"
#include "device/patience.h"

namespace lanner {
namespace {

// Note [Threads without a core]
// A thread that was taken off its core, for another process, a decoder or a quota, is back after
// milliseconds; a step of a network takes microseconds. So nothing is handed to a thread: each share has a
// word that says how many of its pieces are left, and whoever runs takes one, first of its own share and then
// of the others. A thread that comes late finds nothing left and touches nothing but these words. The caller
// waits only for pieces that were taken and not returned. Where that took longer than the work itself (a
// thread lost its core with a piece in hand), it runs free shares alone for a while: see Patience.
//
// A word holds the number of its job, so that a thread that slept through the end of a job takes nothing of
// the next one by mistake. What a job is (function, argument) is read only with a piece in hand: until that
// is returned the caller writes nothing.

constexpr int share_bits = 13, most_threads = (1 << share_bits) - 1; ///< Of one team.
constexpr int piece_bits = 24;
constexpr std::uint64_t share_mask = most_threads, piece_mask = (std::uint64_t{1} << piece_bits) - 1;
constexpr std::uint64_t number_mask = (std::uint64_t{1} << (64 - piece_bits)) - 1;

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

/// The pieces of one share that nobody has taken yet.
struct alignas(64) Cursor {
  std::atomic<std::uint64_t> word{0}; ///< Number of the job, and how many pieces are left.
};

struct Job {
  void (*function)(void* argument, int share, int piece) = nullptr;
  void* argument = nullptr;
  int shares = 1, pieces = 1;
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

  void run(Job job, Shares kind);
  void barrier(int size) noexcept;
  unsigned barriers() const noexcept { return barriers_.load(std::memory_order_relaxed); }
  int grow(int threads);
  bool survived_fork() const noexcept { return forks_ == forks.load(std::memory_order_relaxed); }

private:
  static constexpr std::size_t chunk_size = 64;
  using Chunk = std::array<Cursor, chunk_size>;

  Cursor& cursor(int share) {
    const auto i = static_cast<std::size_t>(share);
    return (*chunks_[i / chunk_size])[i % chunk_size];
  }
  void run_alone(const Job& job);
  void run_piece(const Job& job, int share, int piece, bool helper);
  std::uint64_t start(const Job& job);
  void publish(std::uint64_t shares);
  void take_part(int member, std::uint64_t word);
  std::uint32_t take_pieces(int share, std::uint64_t number, bool helper);
  void give_back(std::uint32_t pieces);
  void wait_for_others();
  void serve(int number, std::uint64_t seen);
  std::uint64_t next_job(std::uint64_t seen, Spin& spin);

  // Number of the job, and how many shares it has.
  alignas(64) std::atomic<std::uint64_t> job_word_{0};
  std::atomic<int> sleepers_{0};
  std::atomic<std::uint32_t> bell_{0}; ///< Rung for sleepers.
  Job job_;
  ThreadBounds bounds_; ///< The caller's: what its helpers take counts as taken by it.
  alignas(64) std::atomic<std::uint32_t> left_{0}; ///< Pieces not returned yet.
  std::atomic<bool> caller_sleeps_{false};
  alignas(64) std::atomic<int> arrived_{0};
  std::atomic<std::uint32_t> barriers_{0};
  std::atomic<bool> stopping_{false};
  unsigned forks_;
  Patience patience_; ///< The caller's.
  std::array<std::unique_ptr<Chunk>, (most_threads + chunk_size) / chunk_size> chunks_;
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
  for (std::size_t chunk = 0; chunk * chunk_size < static_cast<std::size_t>(threads); ++chunk)
    if (!chunks_[chunk]) chunks_[chunk] = std::make_unique<Chunk>();
  if (static_cast<int>(workers_.size()) >= threads - 1) return threads;
  const BlockedSignals blocked;
  try {
    while (static_cast<int>(workers_.size()) < threads - 1) {
      const int number = static_cast<int>(workers_.size()) + 1;
      workers_.emplace_back([this, number, seen = job_word_.load()] { serve(number, seen); });
    }
  } catch (const std::exception&) {
    return static_cast<int>(workers_.size()) + 1;
  }
  return threads;
}

void Team::publish(std::uint64_t shares) {
  job_word_ = ((job_word_.load(std::memory_order_relaxed) & ~share_mask) + share_mask + 1) | shares;
  if (sleepers_ > 0) {
    ++bell_;
    bell_.notify_all();
  }
}

/// Work, once there is some that was not seen.
std::uint64_t Team::next_job(std::uint64_t seen, Spin& spin) {
  const auto changed = [&] { return job_word_.load(std::memory_order_acquire) != seen; };
  while (!spin.until(changed)) {
    const std::uint32_t bell = bell_;
    ++sleepers_;
    if (job_word_ == seen) bell_.wait(bell);
    --sleepers_;
  }
  return job_word_.load(std::memory_order_acquire);
}

void Team::serve(int number, std::uint64_t seen) {
  Spin spin;
  for (;;) {
    seen = next_job(seen, spin);
    if (stopping_) return;
    if (number < static_cast<int>(seen & share_mask)) take_part(number, seen);
  }
}

void Team::give_back(std::uint32_t pieces) {
  if (left_.fetch_sub(pieces) == pieces && caller_sleeps_) left_.notify_one();
}

/// One that is in hand. What a helper takes counts as the caller's.
void Team::run_piece(const Job& job, int share, int piece, bool helper) {
  const InRegion in(*this, share, job.shares);
  if (helper) set_thread_bounds(bounds_);
  job.function(job.argument, share, piece);
  if (helper) set_thread_bounds({});
}

/// Runs what is left of a share; how many pieces that were. They are not returned yet.
std::uint32_t Team::take_pieces(int share, std::uint64_t number, bool helper) {
  std::atomic<std::uint64_t>& word = cursor(share).word;
  std::uint32_t taken = 0;
  std::uint64_t at = word.load(std::memory_order_relaxed);
  while (at >> piece_bits == number && (at & piece_mask) != 0) {
    if (!word.compare_exchange_weak(at, at - 1, std::memory_order_acquire, std::memory_order_relaxed))
      continue;
    run_piece(job_, share, job_.pieces - static_cast<int>(at & piece_mask), helper);
    ++taken;
    at = word.load(std::memory_order_relaxed);
  }
  return taken;
}

/// The member's own share comes first. Member 0 is the caller.
void Team::take_part(int member, std::uint64_t word) {
  const int shares = static_cast<int>(word & share_mask);
  const std::uint64_t number = (word >> share_bits) & number_mask;
  for (int i = 0; i < shares; ++i) {
    const int share = member + i < shares ? member + i : member + i - shares;
    if (const std::uint32_t taken = take_pieces(share, number, member != 0); taken > 0) give_back(taken);
  }
}

std::uint64_t Team::start(const Job& job) {
  job_ = job;
  bounds_ = thread_bounds();
  left_.store(static_cast<std::uint32_t>(job.shares) * static_cast<std::uint32_t>(job.pieces),
              std::memory_order_relaxed);
  const std::uint64_t number = ((job_word_.load(std::memory_order_relaxed) >> share_bits) + 1) & number_mask;
  for (int share = 0; share < job.shares; ++share)
    cursor(share).word.store(number << piece_bits | static_cast<std::uint64_t>(job.pieces),
                             std::memory_order_release);
  publish(static_cast<std::uint64_t>(job.shares));
  return job_word_.load(std::memory_order_relaxed);
}

void Team::wait_for_others() {
  const auto done = [&] { return left_.load(std::memory_order_acquire) == 0; };
  while (!patience_.spin_until(done)) {
    caller_sleeps_ = true;
    if (const std::uint32_t left = left_; left > 0) left_.wait(left);
    caller_sleeps_ = false;
  }
}

void Team::run_alone(const Job& job) {
  for (int share = 0; share < job.shares; ++share)
    for (int piece = 0; piece < job.pieces; ++piece) run_piece(job, share, piece, false);
}

void Team::run(Job job, Shares kind) {
  const bool free = kind == Shares::free;
  if (free && (patience_.is_lost() || job.shares > most_threads)) return run_alone(job);
  const int threads = grow(job.shares);
  if (!free) job.shares = threads;
  if (threads == 1) return run_alone(job);
  patience_.begin();
  take_part(0, start(job));
  patience_.wait_begins();
  wait_for_others();
  if (free) patience_.end();
}

void Team::barrier(int size) noexcept {
  const std::uint32_t number = barriers_;
  if (++arrived_ == size) {
    arrived_ = 0;
    ++barriers_;
    barriers_.notify_all();
    return;
  }
  Spin spin;
  while (!spin.until([&] { return barriers_.load(std::memory_order_acquire) != number; }))
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

  unsigned barriers() const noexcept { return team_ ? team_->barriers() : 0; }

private:
  /// A forked child lacks the threads: they cannot be joined, and they may have been anywhere in the team.
  void leave_behind() {
    if (team_ && !team_->survived_fork()) (void)team_.release();
  }
  std::unique_ptr<Team> team_;
};

thread_local OwnTeam own_team;

} // namespace

void run_pieces(int shares, int pieces, void (*function)(void*, int share, int piece), void* argument) {
  own_team.get().run({function, argument, shares, pieces}, Shares::free);
}

void run_team(int shares, Shares kind, void (*function)(void*), void* argument) {
  if (shares <= 1 || place.inside) {
    const TeamPlace before = place;
    place = {0, 1, before.inside};
    function(argument);
    place = before;
    return;
  }
  struct Call {
    void (*function)(void*);
    void* argument;
  } call{function, argument};
  const auto run = [](void* given, int, int) {
    const auto& of = *static_cast<const Call*>(given);
    of.function(of.argument);
  };
  own_team.get().run({run, &call, shares, 1}, kind);
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

unsigned team_barriers() noexcept {
  return own_team.barriers();
}

unsigned forks_seen() noexcept {
  static const int registered = ::pthread_atfork(nullptr, nullptr, [] { ++forks; });
  (void)registered;
  return forks.load(std::memory_order_relaxed);
}

} // namespace lanner
