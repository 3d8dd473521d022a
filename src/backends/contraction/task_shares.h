#pragma once
// How a kernel's threads share its tasks.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace lanner {

/// Each thread takes the tasks of its own share, from the first on, and then those that others have left.
/// Where tasks are in the order of rows, a thread so gets much the same rows from kernel to kernel: it reads
/// what it has written itself, which lies in its own cache. Made by one thread, used by all.
class TaskShares {
public:
  /// `counters`: memory for a counter of each thread, `distance` bytes apart and aligned for it.
  TaskShares(std::int64_t threads, std::int64_t tasks, void* counters, std::int64_t distance)
      : threads_(threads), tasks_(tasks), counters_(static_cast<std::byte*>(counters)), distance_(distance) {
    for (std::int64_t thread = 0; thread < threads_; ++thread) *counter(thread) = first(thread);
  }

  /// The next task for a thread; none where all are taken.
  std::optional<std::int64_t> take(std::int64_t thread) const {
    for (std::int64_t i = 0; i < threads_; ++i) {
      const std::int64_t owner = (thread + i) % threads_, end = first(owner + 1);
      const std::atomic_ref<std::int64_t> next(*counter(owner));
      if (next.load(std::memory_order_relaxed) >= end) continue;
      if (const std::int64_t task = next.fetch_add(1, std::memory_order_relaxed); task < end) return task;
    }
    return std::nullopt;
  }

private:
  std::int64_t first(std::int64_t thread) const { return thread * tasks_ / threads_; }
  std::int64_t* counter(std::int64_t thread) const {
    return reinterpret_cast<std::int64_t*>(counters_ + thread * distance_);
  }

  std::int64_t threads_, tasks_;
  std::byte* counters_;
  std::int64_t distance_;
};

} // namespace lanner
