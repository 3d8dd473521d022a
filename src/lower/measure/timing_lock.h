#pragma once
// Builds that run at the same time measure one after the other.

#include <chrono>
#include <filesystem>
#include <optional>

#include <lanner/cancel.h>

#include "base/file/file.h"

namespace lanner {

/// While it lives, no other thread of this process has one, and no other process that waits at the same lock
/// file. What it is held for should take a fraction of a second. A process that ends gives its turn back,
/// however it ends.
class TimingLock {
public:
  /// Waits for its turn: within a process, who came first goes first. Without a lock file, and where the file
  /// cannot be locked, turns are this process's alone. Who has waited for `timeout` goes on without a turn,
  /// since a process that was stopped keeps its own: times are worse then, and nothing hangs. Throws
  /// Error{cancelled}.
  explicit TimingLock(const std::filesystem::path& lock, const CancelToken& cancel = {},
                      std::chrono::milliseconds timeout = std::chrono::seconds(30));
  ~TimingLock();
  TimingLock(const TimingLock&) = delete;
  TimingLock& operator=(const TimingLock&) = delete;

  /// Seconds that it was waited for.
  double waited() const noexcept { return waited_; }
  /// Whether nobody else has one: false for one that lost its timeout.
  bool alone() const noexcept { return first_ && !late_; }

private:
  class Line;
  Line* line_;
  bool first_ = false, late_ = false;
  std::optional<FileLock> lock_;
  double waited_ = 0;
};

} // namespace lanner
