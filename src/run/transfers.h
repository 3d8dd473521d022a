#pragma once
// Memory sized during a run, and copies of values between its steps.

#include <cstdint>
#include <memory>
#include <vector>

#include <lanner/item.h>

#include "device/memory.h"

namespace lanner {

struct RunRequest;

/// GPU memory for values of data-dependent size, kept between runs so that a similar run allocates nothing.
/// Released blocks are reused although work that reads them may still be queued: later writes are queued
/// after it. Used by one thread at a time; tensors may be released by any.
class RunMemory {
public:
  /// Row-major. Throws Error{limit_exceeded, out_of_memory}.
  Tensor allocate(DType type, const Shape& shape, Device device);
  /// Frees blocks that no run has used for long.
  void begin_run();
  std::uint64_t bytes() const noexcept; ///< Of all its blocks.

private:
  struct Block {
    std::shared_ptr<void> memory;
    Device device;
    std::uint64_t bytes = 0, last_run = 0;
  };
  Block* find(Device device, std::uint64_t bytes);
  void drop_idle();

  std::vector<Block> blocks_;
  std::uint64_t run_ = 0;
};

/// Allocations and copies for the steps of one run: on a GPU all copies are queued on the run's stream.
class Transfers {
public:
  /// `memory`, for GPU allocations, must outlive it.
  Transfers(Stream stream, RunMemory& memory) : stream_(stream), memory_(&memory) {}
  explicit Transfers(const RunRequest& request);

  /// Row-major, within the thread's limits.
  Tensor allocate(DType type, const Shape& shape, Device device) const;
  /// The elements on `device`, row-major: the tensor itself where it already is so. On the host they can be
  /// read on return.
  Tensor on(Device device, const Tensor& tensor) const;
  /// The same for all tensors of the item.
  Item on(Device device, const Item& item) const;
  /// A row-major copy on the same device.
  Tensor clone(const Tensor& tensor) const;
  /// No-op where both are the same location.
  void copy(const MemoryLocation& to, const MemoryLocation& from, std::uint64_t bytes) const;
  /// Copies between `slice` and the slice of `whole` at `position` along `axis`.
  void copy_slice(const Tensor& slice, const Tensor& whole, std::size_t axis, std::int64_t position) const;
  void take_slice(const Tensor& whole, std::size_t axis, std::int64_t position, const Tensor& slice) const;
  void clear(const MemoryLocation& location, std::uint64_t bytes) const;
  Stream stream() const noexcept { return stream_; }
  /// Waits until the work queued on a GPU is done.
  void wait(Device device) const { synchronize(device, stream_); }

private:
  Stream stream_;
  RunMemory* memory_;
};

bool is_plain(const Tensor& tensor, Device device = {}); ///< Row-major and on `device`.
/// Location of a tensor's elements.
MemoryLocation location_of(const Tensor& tensor);
/// Whether the location is aligned for all kernels.
bool fits_kernels(const MemoryLocation& location);

} // namespace lanner
