#pragma once
// A stream and memory for reading outputs on a GPU, reused from picture to picture.

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

/// Whether kernels read the tensor in place: row-major f32, f16 or bf16 on a GPU, large enough that a copy
/// would take longer than queueing the kernels, in a build that has them.
bool stays(const Tensor& tensor);
/// Whether this build has the kernels of tasks.
bool has_kernels();
/// A copy on the host, complete on return. Work that writes the tensor must have ended.
Tensor fetched(const Tensor& tensor);

/// An element type's number in the kernels.
int type_number(DType type);

/// A queue of work with its memory. Used by one call at a time.
class WorkQueue {
public:
  explicit WorkQueue(const Gpu& gpu);

  const Gpu& gpu() const noexcept { return gpu_; }
  Stream stream() const noexcept { return stream_.stream(); }
  void wait() const { stream_.synchronize(); }

  /// Memory on the GPU of at least this many bytes; a second request returns the same or larger memory, whose
  /// content is lost. Queued work may use it until wait(). `which` of several.
  enum Use : std::uint8_t { work, results, uploads, uses };
  std::byte* memory(Use use, std::uint64_t bytes);
  /// The same on the host, page-locked.
  std::byte* pinned(Use use, std::uint64_t bytes);

  /// Queues a copy to the GPU, through pinned memory, so the source may change after the return; does not
  /// block where the last upload of this queue was waited for. Skips bytes that equal those of the last
  /// upload.
  const std::byte* upload(std::span<const std::byte> bytes);
  /// Queues a copy from the GPU.
  void download(void* to, const void* from, std::uint64_t bytes);

  FunctionHandle function(const char* stem, const char* name);
  template<typename... Arguments>
  void launch(FunctionHandle function, const Grid& grid, Arguments... arguments) const {
    lanner::cuda::launch(function, grid, stream(), arguments...);
  }

  /// Frees memory beyond what an idle queue may keep.
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
  std::vector<std::byte> uploaded_; ///< Content of memory_[uploads].
  std::map<const char*, FunctionHandle> functions_;
};

/// A queue during a call, with its GPU's context current. A failed call destroys the queue.
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

/// The address this many bytes further.
template<typename T>
T* placed(std::byte* base, std::uint64_t offset) {
  return reinterpret_cast<T*>(base + offset);
}
template<typename T>
T* placed(const std::byte* base, std::uint64_t offset) {
  return reinterpret_cast<T*>(base + offset);
}

/// Concatenates pieces of bytes, each aligned: for uploads, and to plan memory.
class Pieces {
public:
  /// Offset of the piece.
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

/// Bytes of the host that are uploaded together.
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
