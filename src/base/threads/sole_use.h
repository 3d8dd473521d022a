#pragma once
// Objects that one thread at a time may use.

#include <atomic>

#include <lanner/error.h>

#include "base/check.h"

namespace lanner {

/// Tells when two calls of one object meet: of two threads, or of one out of a callback. The second is
/// refused before it can touch what the first is at work on.
class SoleUse {
public:
  /// `what` is the noun in the message; a literal.
  explicit SoleUse(const char* what) noexcept : what_(what) {}
  SoleUse(const SoleUse&) = delete;
  SoleUse& operator=(const SoleUse&) = delete;

  /// A call, for as long as it lives. Throws Error{invalid_argument} while another one does.
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
