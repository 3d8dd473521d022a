#pragma once
// GPU memory of frames that are given out.

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "video/nvdec/library.h"

namespace lanner::nvdec {

/// Gives frames memory of their own, which stays valid for as long as somebody holds it, whatever becomes of
/// the decoder; it may be let go on any thread.
class FrameMemory {
public:
  /// With a stream of the caller's, memory comes from and goes back to that stream's order; else buffers that
  /// come back are given out again, those of one size.
  FrameMemory(const GpuContext& context, cuda::StreamHandle callers_stream);
  FrameMemory(const FrameMemory&) = delete;
  FrameMemory& operator=(const FrameMemory&) = delete;
  ~FrameMemory();

  /// Throws Error{out_of_memory, device}. The context must be the thread's.
  std::shared_ptr<void> take(std::uint64_t bytes);

private:
  struct Pool;
  std::shared_ptr<void> take_in_order(std::uint64_t bytes);
  std::shared_ptr<void> take_from_pool(std::uint64_t bytes);

  GpuContext context_;
  cuda::StreamHandle stream_;
  std::shared_ptr<Pool> pool_;
};

} // namespace lanner::nvdec
