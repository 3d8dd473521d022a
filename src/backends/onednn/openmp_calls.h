#pragma once
// oneDNN's threads. Debian builds it for GCC's OpenMP; this module defines the few functions that such code
// calls, by run_team of device/team.h, and is opened so that they come before libgomp's (RTLD_DEEPBIND,
// base/file/module.cpp). See docs/decisions/007-own-threads.md.

#include <atomic>
#include <string>

#include "device/team.h"

namespace lanner::onednn {

/// The thread count that oneDNN sees on the calling thread, set for a while: it is fixed when a descriptor is
/// made, and the same is expected when the primitive runs. Throws Error{unsupported} when so many threads are
/// not to be had.
class ThreadCount {
public:
  /// `shares` says how those of oneDNN's regions depend on each other.
  explicit ThreadCount(int threads, Shares shares = Shares::apart);
  ~ThreadCount();
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

private:
  int before_;
  Shares shares_before_ = Shares::apart;
};

/// Tells whether the calling thread, or a region that it begins meanwhile, ran an invalid operation. Minima,
/// maxima and orderings of a NaN are invalid, whatever they give (IEEE 754), so that a kernel that hides one
/// by them cannot do so unseen, and looking costs nothing. Afterwards the thread's own flag is as it was. One
/// may be made while another is there, as where a thread that waits works for others.
class InvalidWatch {
public:
  InvalidWatch();
  ~InvalidWatch();
  InvalidWatch(const InvalidWatch&) = delete;
  InvalidWatch& operator=(const InvalidWatch&) = delete;

  bool seen() const;
  void note() { seen_.store(true, std::memory_order_relaxed); } ///< By any thread.

private:
  std::atomic<bool> seen_{false};
  bool raised_before_;
  InvalidWatch* outer_;
};

/// Finds out whose functions libdnnl calls; to be called before anything of oneDNN is. Returns why its loops
/// do not run on Lanner's threads, empty when they do.
std::string bind_openmp();

} // namespace lanner::onednn
