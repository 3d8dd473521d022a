#pragma once
// Memory of any device.

#include <cstdint>
#include <memory>

#include <lanner/device.h>

namespace lanner {

/// Uninitialised memory, aligned to 64 bytes on the host and to 256 on a GPU. Throws Error{out_of_memory}
/// and, for a device that cannot be used, Error{unsupported}. The last copy of the pointer gives it back, on
/// any thread. Memory of the host is charged to the thread's account (base/limits/account.h), which may throw
/// Error{limit_exceeded}; that of a GPU is bounded by the GPU, and counts for the environment's total alone.
/// Both come from the calling thread's allocator where it has one (base/threads/thread_settings.h).
std::shared_ptr<void> allocate_memory(Device device, std::uint64_t bytes);
/// Host memory that a GPU reads and writes without a copy of the driver's; plain memory for a host device.
std::shared_ptr<void> allocate_pinned(Device device, std::uint64_t bytes);

/// One end of a copy.
struct MemoryLocation {
  void* data = nullptr;
  Device device;
};
/// Copies `bytes`, which do not overlap. Between hosts done at return; else queued on `stream`, a stream of
/// the GPU that takes part (of two the one that the bytes go to), with pageable host memory read before
/// return.
void copy_memory(const MemoryLocation& to, const MemoryLocation& from, std::uint64_t bytes,
                 Stream stream = {});
/// Rows of `row_bytes` that lie `pitch` bytes from each other.
struct RowsPlace {
  MemoryLocation first;
  std::int64_t pitch = 0;
};
/// Copies `rows` rows, by the rules of copy_memory().
void copy_rows(const RowsPlace& to, const RowsPlace& from, std::uint64_t row_bytes, std::uint64_t rows,
               Stream stream = {});
/// Sets `bytes` to zero, by the same rules.
void clear_memory(const MemoryLocation& place, std::uint64_t bytes, Stream stream = {});
/// Waits for the work queued on a GPU's stream; nothing to do on the host.
void synchronize(Device device, Stream stream = {});

} // namespace lanner
