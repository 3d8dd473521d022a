#pragma once
// oneDNN's threads. Debian builds it for GCC's OpenMP; this module defines the few functions that such code
// calls, by run_team of device/team.h, and is opened so that they come before libgomp's (RTLD_DEEPBIND,
// base/module.cpp). See docs/decisions/007-own-threads.md.

namespace lanner::onednn {

/// The thread count that oneDNN sees on the calling thread, set for a while: it is fixed when a descriptor is
/// made, and the same is expected when the primitive runs.
class ThreadCount {
public:
  explicit ThreadCount(int threads) noexcept;
  ~ThreadCount();
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

private:
  int before_;
};

/// Whether oneDNN's loops come here. They do not when the process had loaded libdnnl before Lanner did.
bool serves_onednn();

} // namespace lanner::onednn
