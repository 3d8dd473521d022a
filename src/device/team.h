#pragma once
// Threads that serve the loops of one caller. Lanner's own loops run on them, and so do oneDNN's, whose
// OpenMP calls end up here (backends/onednn/openmp_calls.cpp).

namespace lanner {

/// How the shares of a region depend on each other.
enum class Shares : unsigned char {
  apart, ///< One may wait for another: each needs a thread of its own, however long that takes to come.
  free,  ///< None waits for another: whoever has a core runs them, the caller all of them where nobody comes.
};

/// Calls `function(argument)` once for each of `shares` shares, which team_place() tells apart, on up to as
/// many threads, the calling one among them, and returns when all have returned. Every calling thread has a
/// team of its own, made at its first call, grown when it asks for more, ended with the thread; its threads
/// end with the last TeamsNeeded too, and come back at the next call. A call from within a region runs one
/// share on the caller alone. Where the system has no more threads, there are fewer shares of Shares::apart:
/// see reserve_team. A child made by fork() gets new threads. `function` must not throw. See Note [Threads
/// without a core].
void run_team(int shares, Shares kind, void (*function)(void*), void* argument);

/// Calls `function(argument, share, piece)` once for each piece of each share, which are free. Pieces of a
/// share are begun in order, by one thread as a rule and by others once these have nothing left of their own.
/// Not from within a region. `function` must not throw.
void run_pieces(int shares, int pieces, void (*function)(void*, int share, int piece), void* argument);

/// Makes sure that the calling thread's next regions of up to `threads` threads get them all. False when the
/// system refuses more threads. Costs next to nothing once they exist.
bool reserve_team(int threads);

/// From now on at most `threads` threads of the calling thread's team, itself among them, take free shares;
/// the others sleep. 0: all of them. A region of Shares::apart gets its threads all the same and ends the
/// limit.
void limit_team(int threads);
/// Seconds that processors have worked for the calling thread and the threads of its team.
double team_seconds();

struct Executor;
/// Free shares and pieces are run by `executor` from now on, where neither the call nor its environment says
/// otherwise; null: by the teams again. See lanner/threads.h.
void run_free_shares_by(const Executor* executor) noexcept;

/// As long as one is there, threads of teams wait for the next region; without any they end.
class TeamsNeeded {
public:
  TeamsNeeded() noexcept;
  ~TeamsNeeded();
  TeamsNeeded(const TeamsNeeded&) = delete;
  TeamsNeeded& operator=(const TeamsNeeded&) = delete;
};

/// The calling thread's share of the innermost region; outside of any, number 0 of 1.
struct TeamPlace {
  int number = 0;
  int size = 1;
  bool inside = false; ///< Of a region of several shares, at whatever depth.
};
TeamPlace team_place() noexcept;

/// Waits until all shares of the region have come here, which have to be of Shares::apart.
void team_barrier() noexcept;
/// How often shares of the calling thread's regions have waited so.
unsigned team_barriers() noexcept;

/// How often this process is a fork's child of the one that first called one of these functions.
unsigned forks_seen() noexcept;

} // namespace lanner
