#include "device/fork.h"

#include <pthread.h>

#include <atomic>

namespace lanner {
namespace {

std::atomic<bool> used{false}, lost{false};

void in_child() {
  lost = used.load();
}

} // namespace

void note_openmp_use() noexcept {
  if (used.load(std::memory_order_relaxed)) return;
  static const int registered = ::pthread_atfork(nullptr, nullptr, &in_child);
  (void)registered;
  used = true;
}

bool openmp_lost() noexcept {
  return lost.load(std::memory_order_relaxed);
}

} // namespace lanner
