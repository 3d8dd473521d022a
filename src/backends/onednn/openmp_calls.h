#pragma once
// oneDNN's threads. Debian builds it for GCC's OpenMP; this module implements the few functions that such
// code calls, on run_team of device/team.h, and is opened so that they take precedence over libgomp's
// (RTLD_DEEPBIND, base/file/module.cpp). See docs/decisions/007-own-threads.md.

#include <atomic>
#include <string>

#include "device/team.h"

namespace lanner::onednn {

/// Sets, for its lifetime, the thread count that oneDNN sees on the calling thread: it is fixed when a
/// descriptor is made, and must be the same when the primitive runs. Throws Error{unsupported} when so many
/// threads are not available.
class ThreadCount {
public:
  /// `shares`: how the parts of oneDNN's parallel regions depend on each other.
  explicit ThreadCount(int threads, Shares shares = Shares::apart);
  ~ThreadCount();
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

private:
  int before_;
  Shares shares_before_ = Shares::apart;
};

/// Detects invalid floating-point operations on the calling thread and in regions that it starts. Minima,
/// maxima and orderings of a NaN are invalid, whatever they return (IEEE 754), so that a kernel that hides
/// one by them cannot do so undetected, at no cost. The thread's own flag is restored afterwards. Watches may
/// be nested, as when a waiting thread does others' work.
class InvalidWatch {
public:
  InvalidWatch();
  ~InvalidWatch();
  InvalidWatch(const InvalidWatch&) = delete;
  InvalidWatch& operator=(const InvalidWatch&) = delete;

  bool seen() const;
  void note() { seen_.store(true, std::memory_order_relaxed); } ///< Called by any thread.

private:
  std::atomic<bool> seen_{false};
  bool raised_before_;
  InvalidWatch* outer_;
};

/// Finds out which library's functions libdnnl calls; call it before using oneDNN. Returns why its loops do
/// not run on Lanner's threads, empty when they do.
std::string bind_openmp();

} // namespace lanner::onednn
