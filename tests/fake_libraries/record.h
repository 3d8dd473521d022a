#pragma once
// What both fake libraries keep: which calls were made, which one is to fail, what was not given back.

#include <cstddef>
#include <mutex>
#include <string>

namespace fake {

/// Counts calls and fails one of them.
struct Record {
  std::mutex mutex;
  std::size_t calls = 0, fail_at = 0;
  int fail_with = 0;
  long objects = 0, handles = 0;

  /// The status that a test asked for at this call; 0 else.
  int enter() {
    const std::lock_guard lock(mutex);
    ++calls;
    if (fail_at == 0) return 0;
    --fail_at;
    return fail_at == 0 ? fail_with : 0;
  }
  void count_objects(long by) {
    const std::lock_guard lock(mutex);
    objects += by;
  }
  void count_handles(long by) {
    const std::lock_guard lock(mutex);
    handles += by;
  }
};

} // namespace fake
