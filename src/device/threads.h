#pragma once
// Numbers of threads, beside what lanner/threads.h says of them.

namespace lanner {

/// Threads of an engine that is made without a number: default_threads(), but where nobody said one no more
/// than one memory node has cores.
int default_team();

struct Executor;
/// Throws Error{invalid_argument} without a `run`.
void check_executor(const Executor& executor);

/// Refuses what nobody can mean; 0 leaves the choice.
void check_threads(int threads);

} // namespace lanner
