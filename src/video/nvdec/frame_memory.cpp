#include "video/nvdec/frame_memory.h"

#include <algorithm>

namespace lanner::nvdec {

/// Buffers of one size that came back. Outlives the decoder for as long as frames are held.
struct FrameMemory::Pool {
  /// Frames of a span wait decoded together and come back together. To free one waits for all that the GPU is
  /// at, networks included, so as many are kept as a usual span of 1080p has.
  static constexpr std::uint64_t max_idle_bytes = 192u << 20;
  static constexpr std::uint64_t least_idle = 4, most_idle = 1024;

  explicit Pool(cuda::ContextHandle context) : context(context) {}

  cuda::DevicePointer take(std::uint64_t wanted) {
    const std::lock_guard lock(mutex);
    if (wanted != bytes || idle.empty()) return 0;
    const cuda::DevicePointer buffer = idle.back();
    idle.pop_back();
    return buffer;
  }
  void adopt(std::uint64_t wanted) {
    const std::unique_lock lock(mutex);
    if (wanted == bytes) return;
    release_all();
    bytes = wanted;
    max_idle = std::clamp(max_idle_bytes / std::max<std::uint64_t>(1, wanted), least_idle, most_idle);
    idle.reserve(max_idle); // Frames are let go where nothing may be thrown.
  }
  void give_back(cuda::DevicePointer buffer, std::uint64_t size) noexcept {
    {
      const std::lock_guard lock(mutex);
      if (!closed && size == bytes && idle.size() < max_idle) {
        idle.push_back(buffer);
        return;
      }
    }
    release(buffer);
  }
  void close() noexcept {
    const std::lock_guard lock(mutex);
    closed = true;
    release_all();
  }

  cuda::ContextHandle context;
  std::mutex mutex;
  std::uint64_t bytes = 0;
  std::vector<cuda::DevicePointer> idle; ///< Room for `max_idle` is reserved.
  std::size_t max_idle = 0;
  bool closed = false;

private:
  void release_all() noexcept {
    for (const cuda::DevicePointer buffer : idle) release(buffer);
    idle.clear();
  }
  // A driver that is gone, as when the process ends, has given all memory back itself.
  void release(cuda::DevicePointer buffer) noexcept {
    try {
      const cuda::Current current(context);
      static_cast<void>(cuda::driver().memory_free(buffer));
    } catch (const Error&) {
    }
  }
};

FrameMemory::FrameMemory(const GpuContext& context, cuda::StreamHandle callers_stream)
    : context_(context), stream_(callers_stream), pool_(std::make_shared<Pool>(context.handle)) {}

FrameMemory::~FrameMemory() {
  pool_->close();
}

std::shared_ptr<void> FrameMemory::take(std::uint64_t bytes) {
  return stream_ ? take_in_order(bytes) : take_from_pool(bytes);
}

std::shared_ptr<void> FrameMemory::take_in_order(std::uint64_t bytes) {
  cuda::DevicePointer buffer = 0;
  cuda::check(cuda::driver().memory_alloc_async(&buffer, bytes, stream_), "cuMemAllocAsync");
  return {reinterpret_cast<void*>(buffer), [context = context_.handle, stream = stream_](void* memory) {
            const auto pointer = reinterpret_cast<cuda::DevicePointer>(memory);
            try {
              const cuda::Current current(context);
              // A stream that is gone has no order left to give memory back in.
              if (cuda::driver().memory_free_async(pointer, stream) != cuda::success)
                static_cast<void>(cuda::driver().memory_free(pointer));
            } catch (const Error&) {
            }
          }};
}

std::shared_ptr<void> FrameMemory::take_from_pool(std::uint64_t bytes) {
  pool_->adopt(bytes);
  cuda::DevicePointer buffer = pool_->take(bytes);
  if (!buffer) cuda::check(cuda::driver().memory_alloc(&buffer, bytes), "cuMemAlloc");
  return {reinterpret_cast<void*>(buffer), [pool = pool_, bytes](void* memory) {
            pool->give_back(reinterpret_cast<cuda::DevicePointer>(memory), bytes);
          }};
}

} // namespace lanner::nvdec
