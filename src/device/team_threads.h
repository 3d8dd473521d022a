#pragma once
// The worker threads of one caller: the implementation of run_team() and run_pieces().

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "base/limits/account.h"
#include "device/spin_policy.h"
#include "device/team.h"

namespace lanner::teams {

// Note [Threads without a core]
// A thread that was preempted, by another process, a decoder or a quota, is back after milliseconds; a step
// of a network takes microseconds. So no share belongs to a thread: whichever runs takes the next one, and a
// late thread finds nothing left. The caller waits only for shares that were taken and not returned. While it
// waits it runs the remaining pieces of such a share, so that a thread which lost its core delays it by one
// piece only; and where that took longer than the work itself, it runs free shares alone for a while: see
// SpinPolicy.
//
// The word that shares are taken from holds the number of its job, so that a thread that slept through the
// end of a job cannot take a share of the next one by mistake; so do the words that pieces are taken from. A
// job's function and argument are read only while holding a share or piece: until that is returned the caller
// does not write them. Without interference a job costs three cache line transfers: the job to the helper,
// the return of its share to the caller, and the end of the job to the caller.

/// Limits of one team.
inline constexpr int share_bits = 13, max_threads = (1 << share_bits) - 1;
inline constexpr std::uint64_t number_mask = (std::uint64_t{1} << (64 - 2 * share_bits)) - 1;

/// A job's number, its shares, and how many of them are taken, in one word.
struct Ticket {
  std::uint64_t word = 0;

  static Ticket of(std::uint64_t number, int shares) {
    return {number << 2 * share_bits | static_cast<std::uint64_t>(shares) << share_bits | 1U};
  }
  std::uint64_t number() const { return word >> 2 * share_bits; }
  int shares() const { return static_cast<int>(word >> share_bits & max_threads); }
  int taken() const { return static_cast<int>(word & max_threads); }
};

/// The pieces of one share that are not started: a job's number, and their count.
struct alignas(64) Cursor {
  std::atomic<std::uint64_t> word{0};
};

struct Job {
  void (*function)(void* argument, int share, int piece) = nullptr;
  void* argument = nullptr;
  int shares = 1, pieces = 1;
};

/// How many times the process was forked.
inline std::atomic<unsigned> forks{0};

class Team {
public:
  Team() : forks_(forks) {}
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team() { end_threads(); }

  /// See run_team() and run_pieces().
  void run(Job job, Shares kind);
  void barrier(int size) noexcept;
  /// Grows the team ahead of its next region.
  int reserve(int threads);
  /// From any thread: ends the team's threads, unless the team is in use.
  void rest();
  /// See limit_team() and team_seconds().
  void limit(int threads);
  double seconds();
  unsigned barriers() const noexcept { return barriers_.load(std::memory_order_relaxed); }
  bool survived_fork() const noexcept { return forks_ == forks.load(std::memory_order_relaxed); }

private:
  static constexpr std::size_t chunk_size = 64;
  using Chunk = std::array<Cursor, chunk_size>;

  Cursor& cursor(int share) {
    const auto i = static_cast<std::size_t>(share);
    return (*chunks_[i / chunk_size])[i % chunk_size];
  }
  /// Excludes rest() while it lives.
  class Use {
  public:
    explicit Use(Team& team) : team_(team) {
      while (team_.in_use_.test_and_set(std::memory_order_acquire)) pause_core();
    }
    ~Use() { team_.in_use_.clear(std::memory_order_release); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

  private:
    Team& team_;
  };

  int grow(int threads);
  void look_around();
  void follow_caller_node();
  void follow_cores();
  void end_threads();
  void set_helpers(int most);
  void settle_helpers();
  void run_in_use(Job job, Shares kind);
  void run_by(const Executor& executor, const Job& job);
  void run_alone(const Job& job);
  void run_piece(const Job& job, int share, int piece, bool helper);
  std::uint64_t start(const Job& job);
  std::uint64_t next_number() const { return (Ticket{ticket_}.number() + 1) & number_mask; }
  void publish(Ticket ticket);
  int take_share(std::uint64_t number);
  void run_shares(std::uint64_t number, bool helper);
  void run_share(int share, std::uint64_t number, bool helper);
  std::uint32_t run_pieces_left(int share, std::uint64_t number, bool helper);
  void give_back(std::uint32_t pieces);
  void help_others(std::uint64_t number);
  void wait_for_others(std::uint64_t number);
  void serve(std::uint64_t seen, int helper);
  void wait_for_leave(int helper);
  std::uint64_t next_job(std::uint64_t seen, Spin& spin);

  alignas(64) std::atomic<std::uint64_t> ticket_{0};
  Job job_;
  ThreadBounds bounds_; ///< The caller's: what its helpers allocate is charged to it.
  alignas(64) std::atomic<std::uint32_t> left_{0}; ///< Pieces not returned yet.
  std::atomic<bool> caller_sleeps_{false};
  alignas(64) std::atomic<int> sleepers_{0};
  std::atomic<std::uint32_t> bell_{0}; ///< Changes to wake sleepers.
  alignas(64) std::atomic<int> arrived_{0};
  std::atomic<std::uint32_t> barriers_{0};
  std::atomic<bool> stopping_{false};
  std::atomic<int> helpers_{max_threads}; ///< How many may take part; see set_helpers().
  std::atomic_flag in_use_;
  unsigned forks_;
  SpinPolicy spin_policy_; ///< Of the caller.
  int node_ = -1;          ///< The caller's last known NUMA node.
  unsigned regions_ = 0;
  int limit_ = max_threads; ///< See limit_team().
  int cores_ = 0;           ///< The most cores that this process had.
  int fewer_ = max_threads; ///< The current number of cores, where it shrank.
  SpinClock::time_point last_look_{};
  std::array<std::unique_ptr<Chunk>, (max_threads + chunk_size) / chunk_size> chunks_;
  std::vector<std::thread> workers_;
};

/// The calling thread's team, made at its first call.
Team& own_team();

/// Runs free shares and pieces, where neither the call nor its environment says otherwise; null: teams do.
inline std::atomic<const Executor*> executor{nullptr};
} // namespace lanner::teams
