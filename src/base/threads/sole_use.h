#pragma once
// Objects that only one thread at a time may use.

#include <atomic>

#include <lanner/error.h>

#include "base/check.h"

namespace lanner {

/// Detects concurrent calls of one object: of two threads, or of one from inside a callback. The second call
/// is refused before it can touch the state that the first works on.
class SoleUse {
public:
  /// `what` is the noun in the message; a literal.
  explicit SoleUse(const char* what) noexcept : what_(what) {}
  SoleUse(const SoleUse&) = delete;
  SoleUse& operator=(const SoleUse&) = delete;

  /// The duration of a call. Throws Error{invalid_argument} while another call lives.
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
