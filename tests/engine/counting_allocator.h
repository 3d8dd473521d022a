#pragma once
// An allocator of the program that records its allocations.

#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include <fmt/format.h>

#include <lanner/allocator.h>
#include <lanner/environment.h>

namespace lanner::test {

/// Must outlive its allocations. GPU memory is host memory, as in the fake driver.
class CountingAllocator {
public:
  /// Refuses the n-th allocation from now on; 0: none. Resets the count.
  void fail(std::size_t number) {
    const std::lock_guard lock(mutex_);
    fail_at_ = number;
  }
  /// Blocks allocated and not released.
  std::size_t held() const {
    const std::lock_guard lock(mutex_);
    return blocks_.size();
  }
  std::size_t given() const {
    const std::lock_guard lock(mutex_);
    return given_;
  }
  /// GPU and pinned host blocks allocated so far.
  std::size_t given_on_gpu() const {
    const std::lock_guard lock(mutex_);
    return on_gpu_;
  }
  std::size_t given_pinned() const {
    const std::lock_guard lock(mutex_);
    return pinned_;
  }
  bool refused() const {
    const std::lock_guard lock(mutex_);
    return refused_;
  }
  std::uint64_t largest() const {
    const std::lock_guard lock(mutex_);
    return largest_;
  }
  /// Whether these bytes are in one of its blocks.
  bool has(const void* first, std::uint64_t bytes) const {
    const std::lock_guard lock(mutex_);
    const auto* begin = static_cast<const std::byte*>(first);
    const auto behind = blocks_.upper_bound(begin);
    if (behind == blocks_.begin()) return false;
    const auto& [start, wanted] = *std::prev(behind);
    return begin + bytes <= start + wanted.bytes;
  }
  /// Errors in releases; empty: none.
  std::string wrong() const {
    const std::lock_guard lock(mutex_);
    return wrong_;
  }
  const lanner_allocator* table() const { return &table_; }

private:
  void* take(const lanner_allocation& wanted) {
    const std::lock_guard lock(mutex_);
    if (fail_at_ > 0 && --fail_at_ == 0) {
      refused_ = true;
      return nullptr;
    }
    void* memory = std::aligned_alloc(wanted.alignment, (wanted.bytes + wanted.alignment - 1) /
                                                            wanted.alignment * wanted.alignment);
    blocks_[static_cast<const std::byte*>(memory)] = wanted;
    ++given_;
    on_gpu_ += wanted.device == LANNER_CUDA;
    pinned_ += wanted.pinned != 0;
    largest_ = std::max(largest_, wanted.bytes);
    return memory;
  }
  void give_back(void* memory, const lanner_allocation& wanted) {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(static_cast<const std::byte*>(memory));
    if (found == blocks_.end()) {
      wrong_ = "memory that was never allocated, or was already released";
      return;
    }
    const lanner_allocation& had = found->second;
    if (had.bytes != wanted.bytes || had.alignment != wanted.alignment || had.device != wanted.device ||
        had.device_index != wanted.device_index || had.pinned != wanted.pinned)
      wrong_ = fmt::format("{} bytes were released as {}", had.bytes, wanted.bytes);
    blocks_.erase(found);
    std::free(memory);
  }

  const lanner_allocator table_{this,
                                [](void* user, const lanner_allocation* wanted) {
                                  return static_cast<CountingAllocator*>(user)->take(*wanted);
                                },
                                [](void* user, void* memory, const lanner_allocation* wanted) {
                                  static_cast<CountingAllocator*>(user)->give_back(memory, *wanted);
                                }};
  mutable std::mutex mutex_;
  std::map<const std::byte*, lanner_allocation> blocks_;
  std::size_t given_ = 0, on_gpu_ = 0, pinned_ = 0, fail_at_ = 0;
  std::uint64_t largest_ = 0;
  bool refused_ = false;
  std::string wrong_;
};

/// An environment that takes all memory from it.
inline Environment allocating(const CountingAllocator& allocator) {
  Environment environment;
  environment.set_allocator(allocator.table());
  return environment;
}

} // namespace lanner::test
