#include <lanner/threads.h>

#include <atomic>

#include <lanner/error.h>

#include "base/options.h"
#include "device/cpu.h"
#include "device/team.h"

namespace lanner {
namespace {

std::atomic<int> wanted{0};

} // namespace

int default_threads() {
  if (const int count = wanted; count > 0) return count;
  return options().threads > 0 ? options().threads : usable_cores();
}

void set_threads(int count) {
  check(count >= 0 && count <= most_threads, ErrorCode::invalid_argument,
        "threads: expected 0 to {}, got {}", most_threads, count);
  wanted = count;
}

void set_executor(const Executor* executor) {
  check(!executor || executor->run, ErrorCode::invalid_argument, "executor: its function run is missing");
  run_free_shares_by(executor);
}

} // namespace lanner
