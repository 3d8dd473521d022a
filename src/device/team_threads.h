#pragma once
// The threads of one caller at work: what run_team() and run_pieces() are made of.

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
// A thread that was taken off its core, for another process, a decoder or a quota, is back after
// milliseconds; a step of a network takes microseconds. So no share belongs to a thread: whoever runs takes
// the next one, and who comes late finds nothing left. The caller waits only for what was taken and not
// returned. While it waits it runs the pieces that are left of such a share, so that a thread which lost its
// core keeps it waiting for one piece alone; and where that took longer than the work itself, it runs free
// shares alone for a while: see SpinPolicy.
//
// The word that shares are taken from holds the number of its job, so that a thread that slept through the
// end of a job takes nothing of the next one by mistake; the words that pieces are taken from do so too. What
// a job is (function, argument) is read only with a share or piece in hand: until that is returned the caller
// writes nothing. In a quiet run a job costs three moves of a cache line: the job to the helper, its share's
// being taken back to the caller, its end back to the caller.

/// Of one team.
inline constexpr int share_bits = 13, max_threads = (1 << share_bits) - 1;
inline constexpr std::uint64_t number_mask = (std::uint64_t{1} << (64 - 2 * share_bits)) - 1;

/// Number of a job, how many shares it has, and how many of them are taken.
struct Ticket {
  std::uint64_t word = 0;

  static Ticket of(std::uint64_t number, int shares) {
    return {number << 2 * share_bits | static_cast<std::uint64_t>(shares) << share_bits | 1U};
  }
  std::uint64_t number() const { return word >> 2 * share_bits; }
  int shares() const { return static_cast<int>(word >> share_bits & max_threads); }
  int taken() const { return static_cast<int>(word & max_threads); }
};

/// The pieces of one share that nobody has begun: a job's number, and how many they are.
struct alignas(64) Cursor {
  std::atomic<std::uint64_t> word{0};
};

struct Job {
  void (*function)(void* argument, int share, int piece) = nullptr;
  void* argument = nullptr;
  int shares = 1, pieces = 1;
};

/// How often the process was forked.
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
  /// Grown ahead of its next region.
  int reserve(int threads);
  /// From any thread: ends the team's threads, unless it is in use.
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
  /// Keeps rest() away.
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
  void stay_beside_caller();
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
  ThreadBounds bounds_; ///< The caller's: what its helpers take counts as taken by it.
  alignas(64) std::atomic<std::uint32_t> left_{0}; ///< Pieces not returned yet.
  std::atomic<bool> caller_sleeps_{false};
  alignas(64) std::atomic<int> sleepers_{0};
  std::atomic<std::uint32_t> bell_{0}; ///< Rung for sleepers.
  alignas(64) std::atomic<int> arrived_{0};
  std::atomic<std::uint32_t> barriers_{0};
  std::atomic<bool> stopping_{false};
  std::atomic<int> helpers_{max_threads}; ///< That may take part; see set_helpers().
  std::atomic_flag in_use_;
  unsigned forks_;
  SpinPolicy spin_policy_; ///< The caller's.
  int node_ = -1;          ///< The memory node that the caller was seen on.
  unsigned regions_ = 0;
  int limit_ = max_threads; ///< See limit_team().
  int cores_ = 0;           ///< Most that this process was seen with.
  int fewer_ = max_threads; ///< Those it has now, where they became fewer.
  SpinClock::time_point last_look_{};
  std::array<std::unique_ptr<Chunk>, (max_threads + chunk_size) / chunk_size> chunks_;
  std::vector<std::thread> workers_;
};

/// The calling thread's, made at its first call.
Team& own_team();

/// Free shares and pieces are run by it, where neither the call nor its environment says otherwise; null: by
/// teams.
inline std::atomic<const Executor*> executor{nullptr};
} // namespace lanner::teams
