#pragma once
// Detects concurrent use of single-threaded objects.

#include <atomic>

#include <lanner/error.h>

#include "base/check.h"

namespace lanner {

/// Detects overlapping calls of one object, from two threads or from a callback. The second call is rejected
/// before it can touch the first one's data.
class SoleUse {
public:
  /// `what` is the noun in the message; a literal.
  explicit SoleUse(const char* what) noexcept : what_(what) {}
  SoleUse(const SoleUse&) = delete;
  SoleUse& operator=(const SoleUse&) = delete;

  /// Marks a call for its lifetime. Throws Error{invalid_argument} while another one lives.
  class Call {
  public:
    explicit Call(SoleUse& use) : use_(use) {
      check(!use.busy_.exchange(true, std::memory_order_acquire), ErrorCode::invalid_argument,
            "{} is busy with another call: it takes one at a time; make one for each thread, or lock around "
            "its calls",
            use.what_);
    }
    ~Call() { use_.busy_.store(false, std::memory_order_release); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

  private:
    SoleUse& use_;
  };

private:
  const char* what_;
  std::atomic<bool> busy_{false};
};

} // namespace lanner
