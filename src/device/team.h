#pragma once
// Threads that run the parallel loops of one caller: Lanner's own loops, and oneDNN's, whose OpenMP calls are
// redirected here (backends/onednn/openmp_calls.cpp).

namespace lanner {

/// How the shares of a region depend on each other.
enum class Shares : unsigned char {
  apart, ///< One may wait for another: each needs a thread of its own, however long that takes to start.
  free,  ///< None waits for another: any thread with a core runs them, or the caller runs all.
};

/// Calls `function(argument)` once for each of `shares` shares, which team_share() distinguishes, on up to as
/// many threads, the calling one among them, and returns when all have returned. Every calling thread has a
/// team of its own, made at its first call, grown when it needs more, ended with the thread; its threads
/// also end with the last TeamsNeeded, and are restarted at the next call. A call from within a region runs
/// one share on the caller alone. Where the system has no more threads, there are fewer shares of
/// Shares::apart: see reserve_team. A child made by fork() gets new threads. `function` must not throw. See
/// Note [Threads without a core].
void run_team(int shares, Shares kind, void (*function)(void*), void* argument);

/// Calls `function(argument, share, piece)` once for each piece of each share, which are free. Pieces of a
/// share are started in order, normally by one thread, and by others once these have none of their own left.
/// Not from within a region. `function` must not throw.
void run_pieces(int shares, int pieces, void (*function)(void*, int share, int piece), void* argument);

/// Makes sure that the calling thread's next regions of up to `threads` threads get them all. False when the
/// system refuses more threads. Almost free once they exist.
bool reserve_team(int threads);

/// From now on at most `threads` threads of the calling thread's team, itself included, take free shares; the
/// others sleep. 0: all of them. A region of Shares::apart gets its threads all the same and removes the
/// limit.
void limit_team(int threads);
/// CPU seconds of the calling thread and the threads of its team.
double team_seconds();

struct Executor;
/// From now on `executor` runs free shares and pieces, where neither the call nor its environment says
/// otherwise; null: the teams again. See lanner/threads.h.
void run_free_shares_by(const Executor* executor) noexcept;

/// While one exists, threads of teams wait for the next region; without any they end.
class TeamsNeeded {
public:
  TeamsNeeded() noexcept;
  ~TeamsNeeded();
  TeamsNeeded(const TeamsNeeded&) = delete;
  TeamsNeeded& operator=(const TeamsNeeded&) = delete;
};

/// The calling thread's share of the innermost region; outside of any, number 0 of 1.
struct TeamShare {
  int number = 0;
  int size = 1;
  bool inside = false; ///< Inside a region of several shares, at any depth.
};
TeamShare team_share() noexcept;

/// Waits until all shares of the region, which must be Shares::apart, have reached it.
void team_barrier() noexcept;
/// How many barriers the calling thread's regions have passed.
unsigned team_barriers() noexcept;

/// How many forks lie between this process and the one that first called one of these functions.
unsigned forks_seen() noexcept;

} // namespace lanner
