#pragma once
// A thread that runs networks alongside other work of the same process: decoding, drawing, encoding.

#include <chrono>

namespace lanner {

/// Threads for a team that shares `cores` cores with work that keeps `others` of them busy: the remaining
/// cores, rounded up; at least one.
int threads_beside(int cores, double others);

/// Limits the calling thread's team to the cores that the rest of the process leaves. Their number is
/// measured: processor time of the process less that of the team, four times a second. More threads would
/// only take cores from the stage that others wait for. Results do not change. See decision 007.
class CoreShare {
public:
  /// `threads`: size of the team; its cores are default_threads(), or as many as `threads` where that was
  /// explicitly more.
  explicit CoreShare(int threads);
  /// Measures and sets the limit when the interval has passed. Call it between runs, on the thread that runs.
  void settle();

private:
  using Clock = std::chrono::steady_clock;
  void measure();

  int threads_;
  Clock::time_point last_{};
  double process_ = 0, team_ = 0;
};

} // namespace lanner
