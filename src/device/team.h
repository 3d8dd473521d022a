#pragma once
// Threads that serve the loops of one caller. Lanner's own loops run on them, and so do oneDNN's, whose
// OpenMP calls end up here (backends/cpu/onednn/openmp_calls.cpp).

namespace lanner {

/// Calls `function(argument)` once on each of `threads` threads, the calling one among them, and returns when
/// all have returned. Every calling thread has a team of its own, made at its first call, grown when it asks
/// for more, ended with the thread. A call from within a region runs on the caller alone, and fewer threads
/// take part when the system has no more of them: see reserve_team. A child made by fork() gets new threads.
/// `function` must not throw. See Note [Spinning threads].
void run_team(int threads, void (*function)(void*), void* argument);

/// Makes sure that the calling thread's next regions of up to `threads` threads get them all. False when the
/// system refuses more threads. Costs next to nothing once they exist.
bool reserve_team(int threads);

/// The calling thread's place in the innermost region; outside of any, number 0 of 1.
struct TeamPlace {
  int number = 0;
  int size = 1;
  bool inside = false; ///< Of a region of several threads, at whatever depth.
};
TeamPlace team_place() noexcept;

/// Waits until all threads of the region have come here.
void team_barrier() noexcept;

/// How often this process is a fork's child of the one that first called one of these functions.
unsigned forks_seen() noexcept;

} // namespace lanner
