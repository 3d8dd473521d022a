#pragma once
// Frames of several decoders, put back in order.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>

#include <lanner/cancel.h>
#include <lanner/decoder.h>

#include "base/check.h"

namespace lanner {

/// How much may wait in a FrameQueue.
struct QueueBound {
  std::uint64_t bytes = UINT64_MAX;
  std::size_t frames = SIZE_MAX;
};

/// A queue of slots, one for each piece of work, given out in their order. Producers claim slots and fill
/// them side by side; one consumer empties them one after the other. The producer of the oldest slot may
/// always put a frame that the consumer waits for, so the bound cannot stop the whole; the queue exceeds the
/// bound by one frame at most.
class FrameQueue {
public:
  FrameQueue(std::size_t slots, QueueBound bound, CancelToken cancel);

  /// The next slot that nobody works on; nothing when there is none, or after stop() or an error.
  std::optional<std::size_t> claim();
  /// Waits for room. Throws Error{cancelled} after stop().
  void put(std::size_t slot, Frame frame);
  /// Waits until a frame of so many bytes could be put: whoever makes it only then holds none besides.
  void wait_for_room(std::size_t slot, std::uint64_t bytes);
  /// Waits until all slots before this one are finished and empty.
  void wait_for_turn(std::size_t slot);
  void finish(std::size_t slot);
  /// The consumer meets `error` behind the slot's frames.
  void fail(std::size_t slot, std::exception_ptr error);

  /// The next frame in order; nothing behind the last slot. Throws what its producer met,
  /// and Error{cancelled}.
  std::optional<Frame> next();
  /// Drops all frames, and every wait of a producer ends.
  void stop();
  std::uint64_t bytes() const;

private:
  struct Slot {
    std::deque<Frame> frames;
    bool finished = false;
    std::exception_ptr error;
  };
  bool has_room(std::size_t slot, std::uint64_t bytes) const;
  void wait_for_room(std::unique_lock<std::mutex>& lock, std::size_t slot, std::uint64_t bytes);
  Slot& slot_at(std::size_t slot) { return slots_[slot - oldest_]; }
  bool pop_finished();
  void check_running() const;

  const std::size_t count_;
  const QueueBound bound_;
  const CancelToken cancel_;
  mutable std::mutex mutex_;
  std::condition_variable changed_; ///< For producers.
  std::condition_variable filled_;  ///< For the consumer.
  std::deque<Slot> slots_;          ///< Those that were claimed and not yet emptied.
  std::size_t oldest_ = 0;
  std::uint64_t bytes_ = 0;
  std::size_t frames_ = 0;
  bool stopped_ = false, failed_ = false;
};

} // namespace lanner
