#pragma once
// How many threads the decoders of a process have together.

#include <memory>
#include <utility>

namespace lanner {

class ThreadPool;

/// Threads of one decoder, where it chose their number itself, counted in the process as long as this lives.
/// See docs/decisions/051-decoder-threads.md. Any thread may take and give back.
class DecoderThreads {
public:
  /// What one decoder may have takes no threads: it decodes on its caller's.
  static constexpr int none = 1;

  DecoderThreads() = default;
  DecoderThreads(DecoderThreads&& other) noexcept : count_(std::exchange(other.count_, none)) {}
  DecoderThreads& operator=(DecoderThreads&& other) noexcept {
    std::swap(count_, other.count_);
    return *this;
  }
  ~DecoderThreads() { give_back(); }

  /// `wanted` of them while there are many left, half of what is left where there are few, `none` in the end.
  static DecoderThreads take(int wanted);
  /// What take(wanted) would have now.
  static int offered(int wanted);
  /// Whether more than half of all are taken: idle decoders should give theirs back.
  static bool scarce();
  /// How many decoders of the process may have together.
  static int most();

  int count() const noexcept { return count_; }
  void give_back() noexcept;

private:
  explicit DecoderThreads(int count) noexcept : count_(count) {}
  int count_ = none;
};

/// Threads, as many as there are cores, that decode for decoders without threads of their own: one pool of
/// the process, which ends with the last who holds it. A forked child gets another one.
std::shared_ptr<ThreadPool> decoder_pool();

} // namespace lanner
