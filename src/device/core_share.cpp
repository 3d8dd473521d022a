#include "device/core_share.h"

#include <algorithm>
#include <cmath>

#include <lanner/threads.h>

#include "device/cpu_clock.h"
#include "device/team.h"

namespace lanner {

int threads_beside(int cores, double others) {
  constexpr double hardly_used = 0.1; // Share of a core: less than that does not justify a thread.
  return std::max(1, static_cast<int>(std::ceil(cores - std::max(0.0, others) - hardly_used)));
}

CoreShare::CoreShare(int threads) : threads_(threads) {}

void CoreShare::settle() {
  constexpr std::chrono::milliseconds period{250};
  if (threads_ <= 1 || Clock::now() - last_ < period) return;
  measure();
}

void CoreShare::measure() {
  const auto now = Clock::now();
  const double process = seconds_of(CLOCK_PROCESS_CPUTIME_ID), team = team_seconds();
  if (last_ != Clock::time_point{}) {
    const double passed = std::chrono::duration<double>(now - last_).count();
    limit_team(threads_beside(std::max(default_threads(), threads_),
                              (process - process_ - (team - team_)) / passed));
  }
  last_ = now;
  process_ = process;
  team_ = team;
}

} // namespace lanner
