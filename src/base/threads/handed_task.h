#pragma once
// A task that is handed to a pool and taken back.

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "base/threads/thread_pool.h"

namespace lanner {

/// One task at a time, which a thread of a pool runs or, where none has begun it, who waits for it: so nobody
/// waits for a pool that is busy. All calls are of one thread; tasks do not throw.
class HandedTask {
public:
  HandedTask() = default;
  HandedTask(const HandedTask&) = delete;
  HandedTask& operator=(const HandedTask&) = delete;
  ~HandedTask() { take_back(); }

  /// The one before is finished or taken back.
  void hand(ThreadPool& pool, std::function<void()> work) {
    task_ = std::make_shared<Task>(std::move(work));
    pool.submit([task = task_] { task->run(); });
  }
  bool pending() const noexcept { return task_ != nullptr; }
  /// Returns when it is done.
  void finish() {
    if (!task_) return;
    task_->run();
    task_->wait();
    task_ = nullptr;
  }
  /// It is not run any more, or done.
  void take_back() {
    if (task_ && !task_->claim()) task_->wait();
    task_ = nullptr;
  }
  /// Whether somebody runs it: in a forked child nobody would finish it.
  bool running() const noexcept { return task_ && task_->state == State::running; }
  /// In a forked child: it is not waited for.
  void abandon() noexcept { task_ = nullptr; }

private:
  enum class State : int { waiting, running, done };
  struct Task;
  struct Ending {
    void operator()(Task* task) const noexcept {
      task->state = State::done;
      task->state.notify_all();
    }
  };
  struct Task {
    explicit Task(std::function<void()> todo) : work(std::move(todo)) {}
    bool claim() {
      State expected = State::waiting;
      return state.compare_exchange_strong(expected, State::running);
    }
    void run() {
      if (!claim()) return;
      const std::unique_ptr<Task, Ending> end(this);
      work();
    }
    void wait() const {
      while (state == State::running) state.wait(State::running);
    }
    const std::function<void()> work;
    std::atomic<State> state = State::waiting;
  };
  std::shared_ptr<Task> task_;
};

} // namespace lanner
