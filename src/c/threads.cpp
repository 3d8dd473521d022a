// Threads of the C interface.

#include <lanner/threads.h>

#include "boundary.h"

int32_t lanner_default_threads(void) noexcept {
  return lanner::default_threads();
}

lanner_status lanner_set_threads(int32_t count, lanner_error** error) noexcept {
  return lanner::c::guarded(error, [&] { lanner::set_threads(count); });
}

lanner_status lanner_set_executor(const lanner_executor* executor, lanner_error** error) noexcept {
  static lanner::Executor kept;
  return lanner::c::guarded(error, [&] {
    if (!executor) return lanner::set_executor(nullptr);
    const lanner::Executor given{executor->user, executor->run};
    lanner::set_executor(&given); // may throw, before anything else changes
    kept = given;
    lanner::set_executor(&kept);
  });
}
