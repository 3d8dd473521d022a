#include "video/read/frame_queue.h"

#include <chrono>
#include <utility>

#include <lanner/error.h>

#include "base/check.h"
#include "video/read/frame_conversion.h"

namespace lanner {

namespace {

// A token is set without waking anybody (a signal handler may do it), so waits look at it in turns.
constexpr std::chrono::milliseconds poll_interval{20};

} // namespace

FrameQueue::FrameQueue(std::size_t slots, QueueBound bound, CancelToken cancel)
    : count_(slots), bound_(bound), cancel_(std::move(cancel)) {}

std::optional<std::size_t> FrameQueue::claim() {
  const std::lock_guard lock(mutex_);
  const std::size_t slot = oldest_ + slots_.size();
  if (stopped_ || failed_ || slot >= count_) return std::nullopt;
  slots_.emplace_back();
  return slot;
}

bool FrameQueue::has_room(std::size_t slot, std::uint64_t bytes) const {
  if (slot == oldest_ && slots_.front().frames.empty()) return true;
  return frames_ < bound_.frames && bytes_ + bytes <= bound_.bytes;
}

void FrameQueue::check_running() const {
  cancel_.check();
  check(!stopped_, ErrorCode::cancelled, "decoding was stopped");
}

void FrameQueue::wait_for_room(std::unique_lock<std::mutex>& lock, std::size_t slot, std::uint64_t bytes) {
  for (;;) {
    check_running();
    if (has_room(slot, bytes)) return;
    changed_.wait_for(lock, poll_interval);
  }
}

void FrameQueue::wait_for_room(std::size_t slot, std::uint64_t bytes) {
  std::unique_lock lock(mutex_);
  wait_for_room(lock, slot, bytes);
}

void FrameQueue::put(std::size_t slot, Frame frame) {
  const std::uint64_t bytes = frame_bytes(frame);
  std::unique_lock lock(mutex_);
  wait_for_room(lock, slot, bytes);
  slot_at(slot).frames.push_back(std::move(frame));
  bytes_ += bytes;
  ++frames_;
  if (slot == oldest_) filled_.notify_one();
}

void FrameQueue::wait_for_turn(std::size_t slot) {
  std::unique_lock lock(mutex_);
  for (;;) {
    check_running();
    if (slot == oldest_) return;
    changed_.wait_for(lock, poll_interval);
  }
}

void FrameQueue::finish(std::size_t slot) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return;
  slot_at(slot).finished = true;
  filled_.notify_one();
}

void FrameQueue::fail(std::size_t slot, std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return;
  failed_ = true;
  slot_at(slot).error = std::move(error);
  filled_.notify_one();
}

// Whether the oldest slot went, so that the next one is the oldest.
bool FrameQueue::pop_finished() {
  if (slots_.empty() || !slots_.front().finished || !slots_.front().frames.empty()) return false;
  slots_.pop_front();
  ++oldest_;
  changed_.notify_all();
  return true;
}

std::optional<Frame> FrameQueue::next() {
  std::unique_lock lock(mutex_);
  for (;;) {
    while (pop_finished()) {
    }
    check_running();
    if (oldest_ == count_) return std::nullopt;
    if (!slots_.empty()) {
      Slot& slot = slots_.front();
      if (!slot.frames.empty()) break;
      if (slot.error) std::rethrow_exception(slot.error);
    }
    filled_.wait_for(lock, poll_interval);
  }
  Frame frame = std::move(slots_.front().frames.front());
  slots_.front().frames.pop_front();
  bytes_ -= frame_bytes(frame);
  --frames_;
  lock.unlock();
  changed_.notify_all();
  return frame;
}

void FrameQueue::stop() {
  std::deque<Slot> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    dropped.swap(slots_);
    bytes_ = 0;
    frames_ = 0;
  }
  changed_.notify_all();
  filled_.notify_all();
}

std::uint64_t FrameQueue::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

} // namespace lanner
