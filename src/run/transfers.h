#pragma once
// Memory that only a run sizes, and copies of values between its steps.

#include <cstdint>
#include <memory>
#include <vector>

#include <lanner/item.h>

#include "device/memory.h"

namespace lanner {

struct RunRequest;

/// Memory of a GPU for values whose size a run tells, kept from run to run so that one like the last takes no
/// new memory. What nobody holds any more is given out again though work that reads it may still be queued:
/// all that writes there is queued behind. Used by one thread at a time; tensors may be let go by any.
class RunMemory {
public:
  /// Row-major. Throws Error{limit_exceeded, out_of_memory}.
  Tensor allocate(DType type, const Shape& shape, Device device);
  /// Lets go of what no run has used for long.
  void begin_run();
  std::uint64_t bytes() const noexcept; ///< Of all that it holds.

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

/// What the steps of one run allocate and copy with: on a GPU all of it is queued on the run's stream.
class Transfers {
public:
  /// `memory`, which has to outlive it: of what is allocated on a GPU.
  Transfers(Stream stream, RunMemory& memory) : stream_(stream), memory_(&memory) {}
  explicit Transfers(const RunRequest& request);

  /// Row-major, within the thread's limits.
  Tensor allocate(DType type, const Shape& shape, Device device) const;
  /// The same row-major elements on `device`: itself where they are there. On the host they can be read at
  /// return.
  Tensor on(Device device, const Tensor& tensor) const;
  /// The same of all tensors in it.
  Item on(Device device, const Item& item) const;
  /// Row-major in memory of its own, where it lies.
  Tensor clone(const Tensor& tensor) const;
  /// Nothing where both are one place.
  void copy(const MemoryLocation& to, const MemoryLocation& from, std::uint64_t bytes) const;
  /// Between memory whose slices along `axis` are a part of `whole`'s, and that slice.
  void copy_slice(const Tensor& slice, const Tensor& whole, std::size_t axis, std::int64_t place) const;
  void take_slice(const Tensor& whole, std::size_t axis, std::int64_t place, const Tensor& slice) const;
  void clear(const MemoryLocation& place, std::uint64_t bytes) const;
  Stream stream() const noexcept { return stream_; }
  /// Until what was queued on a GPU is done.
  void wait(Device device) const { synchronize(device, stream_); }

private:
  Stream stream_;
  RunMemory* memory_;
};

bool is_plain(const Tensor& tensor, Device device = {}); ///< Row-major and there.
/// Where a tensor's elements lie.
MemoryLocation place_of(const Tensor& tensor);
/// Whether any kernel may read and write values there.
bool fits_kernels(const MemoryLocation& place);

} // namespace lanner
