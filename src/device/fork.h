#pragma once
// Forked processes. OpenMP's threads do not survive fork(), and its runtime does not notice.

namespace lanner {

/// Says that this process has started OpenMP threads. Cheap; safe from any thread.
void note_openmp_use() noexcept;

/// True in a child that was forked from a process that had started OpenMP threads: a parallel region of more
/// than one thread would wait for ever there. A Context then prepares itself again with one thread, or raises
/// an error that says to use the spawn start method.
bool openmp_lost() noexcept;

} // namespace lanner
