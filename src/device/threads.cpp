#include "device/threads.h"

#include <lanner/threads.h>

#include <algorithm>
#include <atomic>

#include <lanner/error.h>

#include "base/check.h"
#include "base/options.h"
#include "device/cpu.h"
#include "device/numa.h"
#include "device/team.h"

namespace lanner {
namespace {

std::atomic<int> wanted{0};

/// The requested number of threads, 0 where none was requested.
int requested_threads() {
  const int count = wanted;
  return count > 0 ? count : options().threads;
}

} // namespace

int default_threads() {
  const int requested = requested_threads();
  return requested > 0 ? requested : usable_cores();
}

int default_team() {
  const int requested = requested_threads();
  return requested > 0 ? requested
                       : std::min(usable_cores(), cores_of_one_node(memory_nodes(), allowed_cores()));
}

void check_threads(int threads) {
  check(threads >= 0 && threads <= max_threads, ErrorCode::invalid_argument,
        "threads is {}: expected 1 to {}, or 0 to leave the choice", threads, max_threads);
}

void set_threads(int count) {
  check_threads(count);
  wanted = count;
}

void check_executor(const Executor& executor) {
  check(executor.run != nullptr, ErrorCode::invalid_argument, "executor: its function run is missing");
}

void set_executor(const Executor* executor) {
  if (executor) check_executor(*executor);
  run_free_shares_by(executor);
}

} // namespace lanner
