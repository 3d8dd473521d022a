#pragma once
// Numbers of threads, in addition to lanner/threads.h.

namespace lanner {

/// Threads of an engine made without a number: default_threads(), but without an explicit request at most the
/// number of cores of one NUMA node.
int default_team();

struct Executor;
/// Throws Error{invalid_argument} for an executor without `run`.
void check_executor(const Executor& executor);

/// Rejects numbers out of range; 0 leaves the choice to Lanner.
void check_threads(int threads);

} // namespace lanner
