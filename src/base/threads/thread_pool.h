#pragma once
// A fixed number of threads that run tasks.

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

namespace lanner {

/// Runs tasks in the order of submission on `threads` threads of its own. submit() and wait() may be called
/// from any thread but not from a task. The destructor finishes the tasks that run and drops those that wait.
class ThreadPool {
public:
  /// `name` (15 characters at most are kept) is what debuggers and traces show. Throws Error{out_of_memory}
  /// when the system gives no thread.
  ThreadPool(std::size_t threads, std::size_t queue_capacity, std::string_view name = "lanner");
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  std::size_t threads() const noexcept;
  /// Waits for room in the queue, then returns. The task's exception is rethrown by wait().
  void submit(std::function<void()> task);
  /// Waits until no task runs or is queued; rethrows the first exception since the last wait() and clears it.
  void wait();

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace lanner
