#pragma once
// Asynchronous runs of a network.

#include <chrono>
#include <memory>
#include <optional>

#include <lanner/device.h>

#include "device/cuda/gpu.h"

namespace lanner {

/// Queue of a pipeline's runs: on a GPU its own stream, without other work; elsewhere a run ends in the call
/// that queues it.
class RunQueue {
public:
  explicit RunQueue(Device device);

  Stream stream() const noexcept { return own_ ? own_->stream() : Stream{}; }
  const cuda::Gpu* gpu() const noexcept { return gpu_; } ///< Null on the host.

private:
  const cuda::Gpu* gpu_ = nullptr;
  std::optional<cuda::OwnedStream> own_;
};

/// One run, begun by construction; memory that it reads or writes must live until wait() has returned. Copies
/// refer to the same run, and each thread may have one.
class QueuedRun {
public:
  explicit QueuedRun(const RunQueue& queue);
  /// Call when all of it is queued.
  void end(const RunQueue& queue);
  /// Returns when it has ended; the seconds that it took. Throws Error{device} for what failed on the GPU.
  double wait();

private:
  using Clock = std::chrono::steady_clock;
  struct Marks;
  std::shared_ptr<Marks> marks_; ///< Null on the host.
  Clock::time_point start_ = Clock::now();
  double seconds_ = 0;
};

} // namespace lanner
