#pragma once
// How many threads work, and whose.

namespace lanner {

/// Threads of every engine, decoder and reader that is made without a number of its own: what set_threads()
/// said, else LANNER_THREADS, else as many as there are cores that this process may keep busy now, by its
/// affinity mask and its control group's quota, of which a part of a core counts as one. On a machine with
/// several memory nodes (sockets) an engine that nobody gave a number takes the cores of one. Thread-safe.
int default_threads();
/// For what is made from now on; 0 takes back what was set. Throws Error{invalid_argument} for numbers below
/// 0 or above 4096. Thread-safe.
void set_threads(int count);

/// A pool of threads of the program's own, which Lanner's loops are to run on.
struct Executor {
  void* user = nullptr;
  /// Calls `piece(argument, i)` once for each i from 0 to count - 1, in whatever order, on the calling
  /// thread, on others or on both, and returns when all have returned. Pieces wait for nothing and do not
  /// throw; they take from microseconds up. Called by every thread that runs a context or converts pictures,
  /// at the same time too. Must not throw.
  void (*run)(void* user, int count, void (*piece)(void* argument, int number), void* argument) = nullptr;
};
/// Null: Lanner's own threads again. The executor stays the caller's and has to last until another is set.
/// Not while anything runs. How many pieces a loop has still follows from the number of threads of the
/// context or call. Kernels of oneDNN whose threads wait for each other (matrix products) keep threads of
/// Lanner's own. Throws Error{invalid_argument} without a `run`.
void set_executor(const Executor* executor);

} // namespace lanner
