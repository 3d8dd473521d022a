#pragma once
// Detects calls of an object from within another call of it.

#include <algorithm>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "calls/check.h"

namespace lanner::python {

// Note [Calls out of a source]
// A source may be a Python object, whose read() runs inside a call of the video that reads from it. A call
// of the same video from that read() would wait for itself for ever, so it is refused: the threads that are
// inside a call are recorded.
class ThreadCalls {
public:
  /// `noun` is a literal.
  explicit ThreadCalls(const char* noun) : noun_(noun) {}

  /// A call, for as long as it lives. Throws Error{invalid_argument} in another call of the same thread.
  class Call {
  public:
    explicit Call(ThreadCalls& calls) : calls_(calls) {
      const std::lock_guard lock(calls.mutex_);
      const std::thread::id here = std::this_thread::get_id();
      check(std::ranges::find(calls.threads_, here) == calls.threads_.end(), ErrorCode::invalid_argument,
            "{} is busy with another call of this thread; expected none out of the code of its source",
            calls.noun_);
      calls.threads_.push_back(here);
    }
    ~Call() {
      const std::lock_guard lock(calls_.mutex_);
      calls_.threads_.erase(std::ranges::find(calls_.threads_, std::this_thread::get_id()));
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

  private:
    ThreadCalls& calls_;
  };

private:
  const char* noun_;
  std::mutex mutex_;
  std::vector<std::thread::id> threads_;
};

} // namespace lanner::python
