#pragma once
// A thread that runs networks beside other work of the same process: decoding, drawing, encoding.

#include <chrono>

namespace lanner {

/// Threads for one who shares `cores` cores with work that keeps `others` of them busy: what is left of the
/// cores, begun ones included; one at the least.
int threads_beside(int cores, double others);

/// Keeps the calling thread's team to the cores that the rest of the process leaves. How many these are is
/// measured: processor time of the process less that of the team, four times a second. Threads that find no
/// core would only take it from the stage that others wait for. What is computed does not change. See
/// decision 007.
class CoreShare {
public:
  /// `threads`: of the team; its cores are default_threads(), or as many as these where somebody asked for
  /// more.
  explicit CoreShare(int threads);
  /// Measures and sets the limit, where it is time. To be called between runs, by the thread that makes them.
  void settle();

private:
  using Clock = std::chrono::steady_clock;
  void measure();

  int threads_;
  Clock::time_point last_{};
  double process_ = 0, team_ = 0;
};

} // namespace lanner
