#include "lower/measure/timing_lock.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include <lanner/error.h>

#include "device/team.h"

namespace lanner {
namespace {

using Clock = std::chrono::steady_clock;

/// Polling interval of a waiter for cancellation and for the lock.
constexpr std::chrono::milliseconds longest_nap(5);

} // namespace

/// Queue of this process's threads; the first one holds the lock.
class TimingLock::Line {
public:
  /// A forked child gets a new queue: the threads in its parent's do not exist there, so they would never
  /// leave it.
  static Line& own() {
    static std::atomic<Line*> current = nullptr;
    const unsigned forks = forks_seen();
    Line* line = current.load();
    while (!line || line->forks_ != forks) {
      auto made = std::make_unique<Line>(forks);
      if (current.compare_exchange_strong(line, made.get())) line = made.release();
    }
    return *line;
  }

  explicit Line(unsigned forks) : forks_(forks) {}

  /// False when `who` is not first by then.
  bool wait(const TimingLock* who, const CancelToken& cancel, Clock::time_point until) {
    std::unique_lock lock(mutex_);
    line_.push_back(who);
    while (line_.front() != who) {
      if (cancel.cancelled() || Clock::now() >= until) {
        std::erase(line_, who);
        lock.unlock();
        cancel.check();
        return false;
      }
      moved_.wait_for(lock, longest_nap);
    }
    return true;
  }

  void leave(const TimingLock* who) {
    const std::lock_guard lock(mutex_);
    std::erase(line_, who);
    moved_.notify_all();
  }

private:
  const unsigned forks_;
  std::mutex mutex_;
  std::condition_variable moved_;
  std::deque<const TimingLock*> line_;
};

TimingLock::TimingLock(const std::filesystem::path& lock, const CancelToken& cancel,
                       std::chrono::milliseconds timeout)
    : line_(&Line::own()) {
  const auto start = Clock::now(), until = start + timeout;
  first_ = line_->wait(this, cancel, until);
  late_ = !first_;
  std::error_code ignored; // where there is no folder, there is no file to lock
  if (lock.has_parent_path()) std::filesystem::create_directories(lock.parent_path(), ignored);
  try {
    while (!lock.empty() && !late_ && !(lock_ = FileLock::try_acquire(lock))) {
      cancel.check();
      late_ = Clock::now() >= until;
      if (!late_) std::this_thread::sleep_for(longest_nap / 5);
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) {
      line_->leave(this);
      throw;
    }
    // A file that cannot be locked: see the header.
  }
  waited_ = std::chrono::duration<double>(Clock::now() - start).count();
}

TimingLock::~TimingLock() {
  lock_.reset();
  if (first_) line_->leave(this);
}

} // namespace lanner
