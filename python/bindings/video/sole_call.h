#pragma once
// Python objects that only one thread at a time may use.

#include <atomic>

#include "calls/check.h"

namespace lanner::python {

/// Detects two calls of one object at once: by two threads, or by one from within its source's code.
class SoleCall {
public:
  /// `noun` is a literal.
  explicit SoleCall(const char* noun) noexcept : noun_(noun) {}
  SoleCall(const SoleCall&) = delete;
  SoleCall& operator=(const SoleCall&) = delete;

  /// A call, for as long as it lives. Throws Error{invalid_argument} while another one does.
  class Call {
  public:
    explicit Call(SoleCall& calls) : calls_(calls) {
      check(!calls.busy_.exchange(true, std::memory_order_acquire), ErrorCode::invalid_argument,
            "{} is busy with another call: it takes one at a time; make one for each thread, or lock around "
            "its calls",
            calls.noun_);
    }
    ~Call() { calls_.busy_.store(false, std::memory_order_release); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

  private:
    SoleCall& calls_;
  };

private:
  const char* noun_;
  std::atomic<bool> busy_{false};
};

} // namespace lanner::python
