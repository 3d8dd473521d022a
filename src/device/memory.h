#pragma once
// Memory on any device.

#include <cstdint>
#include <memory>

#include <lanner/device.h>

namespace lanner {

/// Uninitialised memory, aligned to 64 bytes on the host and to 256 on a GPU. Throws Error{out_of_memory}
/// and, for a device that cannot be used, Error{unsupported}. The last copy of the pointer frees it, on any
/// thread. Host memory is charged to the thread's account (base/limits/account.h), which may throw
/// Error{limit_exceeded}; GPU memory is bounded by the GPU, and counts only for the environment's total.
/// Both come from the calling thread's allocator where it has one (base/threads/thread_settings.h).
std::shared_ptr<void> allocate_memory(Device device, std::uint64_t bytes);
/// Pinned host memory, which a GPU reads and writes without a staging copy; plain memory for a host device.
std::shared_ptr<void> allocate_pinned(Device device, std::uint64_t bytes);

/// One end of a copy.
struct MemoryLocation {
  void* data = nullptr;
  Device device;
};
/// Copies `bytes` that do not overlap. Between hosts done at return; else queued on `stream`, a stream of the
/// GPU involved (of two, the destination), with pageable host memory read before return.
void copy_memory(const MemoryLocation& to, const MemoryLocation& from, std::uint64_t bytes,
                 Stream stream = {});
/// Rows of `row_bytes` at a distance of `pitch` bytes.
struct PitchedMemory {
  MemoryLocation first;
  std::int64_t pitch = 0;
};
/// Copies `rows` rows, by the rules of copy_memory().
void copy_rows(const PitchedMemory& to, const PitchedMemory& from, std::uint64_t row_bytes,
               std::uint64_t rows, Stream stream = {});
/// Sets `bytes` to zero, by the same rules.
void clear_memory(const MemoryLocation& location, std::uint64_t bytes, Stream stream = {});
/// Waits for the work queued on a GPU's stream; nothing to do on the host.
void synchronize(Device device, Stream stream = {});

} // namespace lanner
