#pragma once
// Caches launch state that depends on the pointers, for the next launch with the same ones.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include <lanner/error.h>

#include "base/check.h"

namespace lanner::cuda {

/// Alignment of pointers that libraries choose kernels for, in bytes.
inline constexpr std::uint32_t pointer_alignment = 16;

/// Throws for a pointer on which such a kernel would fault, for example a caller's view into a tensor.
inline void check_aligned(const void* pointer, const char* kernel) {
  check(reinterpret_cast<std::uintptr_t>(pointer) % pointer_alignment == 0, ErrorCode::invalid_argument,
        "{}: a tensor begins at {}, expected a multiple of {} bytes: copy it to memory of its own", kernel,
        pointer, pointer_alignment);
}

/// A few objects, each used by one thread at a time. Thread-safe and lock-free. Contexts call with the same
/// pointers each time, so that as many contexts as there are slots create nothing anew.
template<typename T>
class LaunchCache {
public:
  LaunchCache() = default;
  LaunchCache(const LaunchCache&) = delete;
  LaunchCache& operator=(const LaunchCache&) = delete;
  ~LaunchCache() {
    for (std::atomic<T*>& place : places_) delete place.load();
  }

  /// Takes out an object for which `fits` holds; else null.
  template<typename Fits>
  std::unique_ptr<T> take(Fits&& fits) {
    for (std::atomic<T*>& place : places_) {
      if (!place.load(std::memory_order_relaxed)) continue;
      std::unique_ptr<T> found(place.exchange(nullptr, std::memory_order_acquire));
      if (!found) continue;
      if (fits(*found)) return found;
      keep(std::move(found), place);
    }
    return nullptr;
  }

  /// Stores an object, replacing another where all slots are taken.
  void give(std::unique_ptr<T> object) {
    for (std::atomic<T*>& place : places_)
      if (keep(std::move(object), place)) return;
    std::atomic<T*>& oldest = places_[next_.fetch_add(1, std::memory_order_relaxed) % places_.size()];
    delete oldest.exchange(object.release(), std::memory_order_acq_rel);
  }

private:
  /// False, leaving the object with the caller, when the slot is taken.
  static bool keep(std::unique_ptr<T>&& object, std::atomic<T*>& place) {
    T* empty = nullptr;
    if (!place.compare_exchange_strong(empty, object.get(), std::memory_order_release,
                                       std::memory_order_relaxed))
      return false;
    static_cast<void>(object.release());
    return true;
  }

  std::array<std::atomic<T*>, 8> places_{};
  std::atomic<std::size_t> next_{0};
};

} // namespace lanner::cuda
