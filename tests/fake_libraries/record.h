#pragma once
// Shared by both fake libraries: the record of calls, the call to fail, and objects not yet freed.

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

  /// The status that a test selected for this call; 0 otherwise.
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
