#pragma once
// Cross-process lock around kernel timing: concurrent builds measure one after the other.

#include <chrono>
#include <filesystem>
#include <optional>

#include <lanner/cancel.h>

#include "base/file/file.h"

namespace lanner {

/// Exclusive among the threads of this process and among processes with the same lock file. Hold it for a
/// fraction of a second only. The operating system releases it when a process ends, however it ends.
class TimingLock {
public:
  /// Waits for the lock, first come first served within a process. Without a lock file, and where the file
  /// cannot be locked, it excludes this process's threads only. After `timeout` it goes on without the lock,
  /// since a stopped process keeps it: timings are worse then, but nothing hangs. Throws Error{cancelled}.
  explicit TimingLock(const std::filesystem::path& lock, const CancelToken& cancel = {},
                      std::chrono::milliseconds timeout = std::chrono::seconds(30));
  ~TimingLock();
  TimingLock(const TimingLock&) = delete;
  TimingLock& operator=(const TimingLock&) = delete;

  /// Seconds spent waiting for the lock.
  double waited() const noexcept { return waited_; }
  /// Whether the lock is held: false after a timeout.
  bool alone() const noexcept { return first_ && !late_; }

private:
  class Line;
  Line* line_;
  bool first_ = false, late_ = false;
  std::optional<FileLock> lock_;
  double waited_ = 0;
};

} // namespace lanner
