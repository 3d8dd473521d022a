#include "base/threads/thread_pool.h"

#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <lanner/error.h>

#include "base/check.h"
#include "base/threads/thread_name.h"

namespace lanner {

struct ThreadPool::State {
  explicit State(std::size_t capacity) : capacity(capacity == 0 ? 1 : capacity) {}

  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      filled.wait(lock, [&] { return stopping || !tasks.empty(); });
      if (stopping) return;
      auto task = std::move(tasks.front());
      tasks.pop_front();
      ++running;
      lock.unlock();
      room.notify_one();
      std::exception_ptr thrown = run_task(task);
      task = nullptr; // destroys what the task owns before it counts as done
      lock.lock();
      if (thrown && !error) error = std::move(thrown);
      if (--running == 0 && tasks.empty()) idle.notify_all();
    }
  }

  static std::exception_ptr run_task(const std::function<void()>& task) noexcept {
    try {
      task();
      return nullptr;
    } catch (...) {
      return std::current_exception();
    }
  }

  void stop() {
    std::deque<std::function<void()>> dropped;
    {
      std::lock_guard lock(mutex);
      stopping = true;
      dropped.swap(tasks);
    }
    filled.notify_all();
    dropped.clear();
    for (std::thread& thread : threads) thread.join();
  }

  const std::size_t capacity;
  const pid_t process = ::getpid();
  std::mutex mutex;
  std::condition_variable filled, room, idle;
  std::deque<std::function<void()>> tasks;
  std::size_t running = 0;
  bool stopping = false;
  std::exception_ptr error;
  std::vector<std::thread> threads;
};

ThreadPool::ThreadPool(std::size_t threads, std::size_t queue_capacity, std::string_view name)
    : state_(std::make_unique<State>(queue_capacity)) {
  check(threads > 0, ErrorCode::invalid_argument, "thread pool: 0 threads; at least 1 is needed");
  State* state = state_.get();
  try {
    state->threads.reserve(threads);
    for (std::size_t i = 0; i < threads; ++i) {
      state->threads.emplace_back([state] { state->run(); });
      name_thread(state->threads.back(), name);
    }
  } catch (const std::system_error& error) {
    state->stop();
    fail(ErrorCode::out_of_memory, "thread pool: thread {} of {} was refused: {}; ask for fewer",
         state->threads.size() + 1, threads, error.code().message());
  }
}

ThreadPool::~ThreadPool() {
  // A forked child has the object but not its threads: there is nothing to join, and their handles are not
  // valid.
  if (state_->process != ::getpid())
    (void)state_.release();
  else
    state_->stop();
}

std::size_t ThreadPool::threads() const noexcept {
  return state_->threads.size();
}

void ThreadPool::submit(std::function<void()> task) {
  std::unique_lock lock(state_->mutex);
  state_->room.wait(lock, [&] { return state_->tasks.size() < state_->capacity; });
  state_->tasks.push_back(std::move(task));
  lock.unlock();
  state_->filled.notify_one();
}

void ThreadPool::wait() {
  std::unique_lock lock(state_->mutex);
  state_->idle.wait(lock, [&] { return state_->running == 0 && state_->tasks.empty(); });
  if (auto error = std::exchange(state_->error, nullptr)) std::rethrow_exception(error);
}

} // namespace lanner
