#pragma once
// Numbers of threads, and executors.

namespace lanner {

/// Threads of every engine, decoder and reader that is made without an explicit number: the number of
/// set_threads(), else LANNER_THREADS, else the number of cores that this process may use now, by its
/// affinity mask and its control group's quota, with part of a core counted as one. On a machine with several
/// NUMA nodes (sockets) an engine without an explicit number uses the cores of one. Thread-safe.
int default_threads();
/// Sets default_threads() for objects made from now on; 0 resets it. Throws Error{invalid_argument} for
/// numbers below 0 or above 4096. Thread-safe.
void set_threads(int count);

/// A thread pool of the program, for Lanner's loops to run on.
struct Executor {
  void* user = nullptr;
  /// Calls `piece(argument, i)` once for each i from 0 to count - 1, in any order, on the calling thread, on
  /// others or on both, and returns when all have returned. Pieces do not wait and do not throw; they take
  /// from microseconds up. Called by every thread that runs a context or converts pictures, also
  /// concurrently. Must not throw.
  void (*run)(void* user, int count, void (*piece)(void* argument, int number), void* argument) = nullptr;
};
/// Null: Lanner's own threads again. The caller owns the executor and must keep it until another is set. Must
/// not be called while anything runs. The number of pieces of a loop still depends on the number of threads
/// of the context or call. oneDNN kernels whose threads synchronise with each other (matrix products) still
/// use Lanner's own threads. Throws Error{invalid_argument} without a `run`.
void set_executor(const Executor* executor);

} // namespace lanner
