#include "device/memory_arena.h"

#include <algorithm>

#include "base/huge_pages.h"
#include "base/limits/account.h"
#include "base/threads/thread_settings.h"
#include "device/memory.h"

namespace lanner {
namespace {

constexpr std::uint64_t alignment = 64;
/// Less than this in all is not worth a huge page.
constexpr std::uint64_t small = std::uint64_t{2} << 20;
constexpr std::uint64_t slab_bytes = std::uint64_t{16} << 20;

} // namespace

/// The next bytes of the slab, or of a new one; null where the system refuses it.
std::byte* MemoryArena::take(std::uint64_t bytes) {
  if (bytes > size_ - used_) {
    const std::uint64_t size = std::max(bytes, slab_bytes);
    auto slab = map_huge_pages(size);
    if (!slab) return nullptr;
    // What is left of the old slab stays unused; untouched pages take no memory.
    slab_ = std::move(slab);
    size_ = size;
    used_ = 0;
  }
  std::byte* const first = slab_.get() + used_;
  used_ += bytes;
  return first;
}

std::shared_ptr<void> MemoryArena::allocate(std::uint64_t bytes) {
  const std::uint64_t rounded = std::max(bytes + (alignment - bytes % alignment) % alignment, alignment);
  given_ += rounded;
  if (given_ < small || rounded < bytes) return allocate_memory({}, bytes);
  Charge charge(current_account(), rounded);
  charge.add(block_overhead);
  if (auto outside = allocated_outside({LANNER_CPU, 0, 0, 0, rounded, alignment}, charge)) return outside;
  std::byte* const first = take(rounded);
  if (!first) {
    charge = {};
    return allocate_memory({}, bytes);
  }
  const std::uint64_t charged = charge.bytes();
  return {first, [slab = slab_, charged, account = charge.leave()](void*) noexcept {
            if (account) account->release(charged);
          }};
}

} // namespace lanner
