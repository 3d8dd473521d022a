#pragma once
// Kernels and trial data that other threads make while a tuner checks and times earlier ones.

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/limits/account.h"
#include "lower/check/trial.h"
#include "program/weights/weights.h"

namespace lanner {

/// Compiles kernels and computes results by the definition, which takes long and needs no quiet machine.
/// Failures are left out here: whoever needs that kernel or data makes it and reports the error.
class PreparationQueue {
public:
  struct Task {
    const Node* node = nullptr; ///< Unchanged until finish().
    const Backend* backend = nullptr;
    Tactic tactic;
    Target target; ///< As passed to the backend.
    std::string name;
    bool expected = true; ///< Of data: with the results that a check compares with.
  };

  /// On up to `threads` threads.
  PreparationQueue(WeightStore& constants, const Control& control, int threads)
      : constants_(constants), control_(control), threads_(threads) {}
  ~PreparationQueue() { finish(); }
  PreparationQueue(const PreparationQueue&) = delete;
  PreparationQueue& operator=(const PreparationQueue&) = delete;

  /// Starts to make the kernel, named uniquely, or the data of a node, which the tactic is to be compared
  /// with.
  void add_kernel(Task task);
  void add_data(Task task);
  /// The kernel or data of that name, which is forgotten then; waits while it is made. Null where it was not
  /// begun yet, and will not be, or failed.
  std::shared_ptr<const Kernel> take_kernel(const std::string& name);
  std::shared_ptr<TrialData> take_data(const std::string& name);
  /// Forgets all tasks, after those that were begun.
  void finish();

private:
  template<typename Made>
  struct Queue {
    std::deque<Task> waiting;
    std::set<std::string> begun; ///< And not made yet.
    std::map<std::string, std::shared_ptr<Made>> made;
  };

  template<typename Made>
  void add(Queue<Made>& queue, Task task);
  template<typename Made>
  std::shared_ptr<Made> take(Queue<Made>& queue, const std::string& name);
  template<typename Made>
  void run_one(Queue<Made>& queue, std::unique_lock<std::mutex>& lock);
  void work();
  /// Whether the data of one more node may be made: they may be large, so only a few are made ahead.
  bool wants_data() const;
  std::shared_ptr<const Kernel> made(const Task& task, const Queue<const Kernel>& queue) const;
  std::shared_ptr<TrialData> made(const Task& task, const Queue<TrialData>& queue) const;

  WeightStore& constants_;
  const Control& control_;
  int threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Queue<const Kernel> kernels_;
  Queue<TrialData> data_;
  ThreadBounds bounds_;
  std::vector<std::jthread> workers_;
  bool closing_ = false; ///< Workers end.
};

} // namespace lanner
