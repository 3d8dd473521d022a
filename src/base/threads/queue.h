#pragma once
// A bounded queue between threads.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>

#include <lanner/cancel.h>

namespace lanner {

/// First in, first out, for any number of producers and consumers. Every wait ends when the queue is closed,
/// aborted or cancelled.
template<typename T>
class BoundedQueue {
public:
  explicit BoundedQueue(std::size_t capacity, CancelToken cancel = {})
      : capacity_(capacity == 0 ? 1 : capacity), cancel_(std::move(cancel)) {}

  /// Waits for room. Returns false, and drops the item, when the queue is closed.
  /// Throws Error{cancelled}, or what abort() was given.
  bool push(T item) {
    std::unique_lock lock(mutex_);
    wait(lock, room_, [&] { return items_.size() < capacity_; });
    if (closed_) return false;
    items_.push_back(std::move(item));
    lock.unlock();
    filled_.notify_one();
    return true;
  }

  /// Waits until push() would not wait: a producer that creates items only then has none outside of the
  /// queue. Returns false when the queue is closed; throws as push() does.
  bool wait_for_room() {
    std::unique_lock lock(mutex_);
    wait(lock, room_, [&] { return items_.size() < capacity_; });
    return !closed_;
  }

  /// Waits for an item; nothing once the queue is closed and empty. Throws as push() does.
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    wait(lock, filled_, [&] { return !items_.empty(); });
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    lock.unlock();
    room_.notify_one();
    return item;
  }

  /// No more items are accepted; queued ones are still popped.
  void close() {
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
    }
    wake_all();
  }

  /// Drops all items and makes every push and pop throw `error`; the first call counts.
  void abort(std::exception_ptr error) {
    std::deque<T> dropped;
    {
      std::lock_guard lock(mutex_);
      if (!error_) error_ = std::move(error);
      closed_ = true;
      dropped.swap(items_);
    }
    wake_all();
  }

  std::size_t size() const {
    std::lock_guard lock(mutex_);
    return items_.size();
  }
  std::size_t capacity() const {
    std::lock_guard lock(mutex_);
    return capacity_;
  }
  /// For producers that learn the size of items late; queued items stay.
  void set_capacity(std::size_t capacity) {
    {
      std::lock_guard lock(mutex_);
      capacity_ = capacity == 0 ? 1 : capacity;
    }
    room_.notify_all();
  }

private:
  // Setting a token notifies nobody (it may be set in a signal handler), so waits poll it.
  static constexpr std::chrono::milliseconds poll_interval{20};

  template<typename Ready>
  void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, Ready ready) {
    for (;;) {
      if (error_) std::rethrow_exception(error_);
      cancel_.check();
      if (closed_ || ready()) return;
      changed.wait_for(lock, poll_interval);
    }
  }

  void wake_all() {
    room_.notify_all();
    filled_.notify_all();
  }

  std::size_t capacity_;
  const CancelToken cancel_;
  mutable std::mutex mutex_;
  std::condition_variable room_, filled_;
  std::deque<T> items_;
  std::exception_ptr error_;
  bool closed_ = false;
};

} // namespace lanner
