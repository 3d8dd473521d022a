#pragma once
// Host memory for many blocks that live about as long as one another.

#include <cstddef>
#include <cstdint>
#include <memory>

namespace lanner {

/// Blocks lie one behind the other in slabs of huge pages, from which a processor streams faster than from
/// blocks of their own. A slab is freed with the last of its blocks. Not thread-safe.
class MemoryArena {
public:
  /// Uninitialised memory by the rules of allocate_memory() on the host, the calling thread's allocator and
  /// account included.
  std::shared_ptr<void> allocate(std::uint64_t bytes);

private:
  std::byte* take(std::uint64_t bytes);

  std::shared_ptr<std::byte> slab_;
  std::uint64_t used_ = 0, size_ = 0; ///< Of the slab.
  std::uint64_t given_ = 0;           ///< In all.
};

} // namespace lanner
