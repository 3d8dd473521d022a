#pragma once
// What reading outputs on a GPU needs: a stream and memory, kept from picture to picture.

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include <lanner/tensor.h>

#include "device/cuda/code.h"
#include "device/cuda/gpu.h"

namespace lanner::tasks::cuda {

using lanner::cuda::Current;
using lanner::cuda::FunctionHandle;
using lanner::cuda::Gpu;
using lanner::cuda::Grid;

/// Whether kernels read the tensor where it lies: row-major f32, f16 or bf16 on a GPU, large enough that a
/// copy would take longer than queueing them, in a build that has them.
bool stays(const Tensor& tensor);
/// Whether this build has the kernels of tasks.
bool has_kernels();
/// A copy on the host, complete at return. Work that makes the tensor has ended.
Tensor fetched(const Tensor& tensor);

/// Number of an element type as kernels know it.
int type_number(DType type);

/// A queue of work with its memory. One call's at a time.
class WorkQueue {
public:
  explicit WorkQueue(const Gpu& gpu);

  const Gpu& gpu() const noexcept { return gpu_; }
  Stream stream() const noexcept { return stream_.stream(); }
  void wait() const { stream_.synchronize(); }

  /// Memory on the GPU of at least so many bytes; asked for again, the same or larger memory, whose content
  /// is lost. What is queued may use it until wait(). `which` of several.
  enum Use : std::uint8_t { work, results, uploads, uses };
  std::byte* memory(Use use, std::uint64_t bytes);
  /// The same of the host, page-locked.
  std::byte* pinned(Use use, std::uint64_t bytes);

  /// Queues a copy to the GPU of what may change once this returns, by way of pinned memory; waits for
  /// nothing where the last upload of this queue was waited for. Bytes that are equal to those of the last
  /// upload are there already.
  const std::byte* upload(std::span<const std::byte> bytes);
  /// Queues a copy from the GPU.
  void download(void* to, const void* from, std::uint64_t bytes);

  FunctionHandle function(const char* stem, const char* name);
  template<typename... Arguments>
  void launch(FunctionHandle function, const Grid& grid, Arguments... arguments) const {
    lanner::cuda::launch(function, grid, stream(), arguments...);
  }

  /// Gives up what is larger than a queue at rest may hold.
  void rest();

private:
  struct Block {
    std::shared_ptr<void> memory;
    std::uint64_t bytes = 0;
  };
  std::byte* grown(Block& block, std::uint64_t bytes, bool pinned);

  const Gpu& gpu_;
  lanner::cuda::OwnedStream stream_;
  Block memory_[uses], pinned_[uses];
  std::vector<std::byte> uploaded_; ///< What lies in memory_[uploads].
  std::map<const char*, FunctionHandle> functions_;
};

/// A queue while a call uses it, with its GPU's context current. A call that fails gives up the queue.
class QueueUse {
public:
  explicit QueueUse(Device device);
  QueueUse(const QueueUse&) = delete;
  QueueUse& operator=(const QueueUse&) = delete;
  ~QueueUse();
  WorkQueue* operator->() const noexcept { return queue_.get(); }
  WorkQueue& operator*() const noexcept { return *queue_; }

private:
  Device device_;
  int exceptions_;
  Current current_;
  std::unique_ptr<WorkQueue> queue_;
};

/// What lies so many bytes behind.
template<typename T>
T* placed(std::byte* base, std::uint64_t offset) {
  return reinterpret_cast<T*>(base + offset);
}
template<typename T>
T* placed(const std::byte* base, std::uint64_t offset) {
  return reinterpret_cast<T*>(base + offset);
}

/// Several pieces of bytes behind each other, each aligned: for uploads, and to plan memory.
class Pieces {
public:
  /// Where the piece lies behind the start.
  std::uint64_t add(std::uint64_t bytes) {
    constexpr std::uint64_t alignment = 256;
    const std::uint64_t offset = size_;
    size_ += (bytes + alignment - 1) / alignment * alignment;
    return offset;
  }
  std::uint64_t size() const noexcept { return size_; }

private:
  std::uint64_t size_ = 0;
};

/// Bytes of the host that go up together.
class Upload {
public:
  template<typename T>
  std::uint64_t add(std::span<const T> values) {
    const std::uint64_t offset = pieces_.add(values.size_bytes());
    bytes_.resize(pieces_.size());
    if (!values.empty()) std::memcpy(bytes_.data() + offset, values.data(), values.size_bytes());
    return offset;
  }
  std::span<const std::byte> bytes() const noexcept { return bytes_; }

private:
  Pieces pieces_;
  std::vector<std::byte> bytes_;
};

} // namespace lanner::tasks::cuda
