#pragma once
// Asynchronous runs of a network.

#include <chrono>
#include <memory>
#include <optional>

#include <lanner/device.h>

#include "device/cuda/gpu.h"

namespace lanner {

/// Queue of a pipeline's runs: on a GPU a stream that holds no other work; on the host a run has ended when
/// the call that queues it returns.
class RunQueue {
public:
  explicit RunQueue(Device device);

  Stream stream() const noexcept { return own_ ? own_->stream() : Stream{}; }
  const cuda::Gpu* gpu() const noexcept { return gpu_; } ///< Null on the host.

private:
  const cuda::Gpu* gpu_ = nullptr;
  std::optional<cuda::OwnedStream> own_;
};

/// One run, which begins with the constructor; memory that it uses must live until wait() has returned.
/// Copies refer to the same run; each thread may use a copy of its own.
class QueuedRun {
public:
  explicit QueuedRun(const RunQueue& queue);
  /// To be called once all work of the run is queued.
  void end(const RunQueue& queue);
  /// Waits for the run's end and returns its duration in seconds. Throws Error{device} if the GPU failed.
  double wait();

private:
  using Clock = std::chrono::steady_clock;
  struct Marks;
  std::shared_ptr<Marks> marks_; ///< Null on the host.
  Clock::time_point start_ = Clock::now();
  double seconds_ = 0;
};

} // namespace lanner
