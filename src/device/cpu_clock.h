#pragma once
// CPU time of threads and of the process.

#include <ctime>

namespace lanner {

/// The time of CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID or another thread's clock
/// (pthread_getcpuclockid).
inline double seconds_of(clockid_t clock) noexcept {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

} // namespace lanner
