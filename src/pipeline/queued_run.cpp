#include "pipeline/queued_run.h"

namespace lanner {

struct QueuedRun::Marks {
  explicit Marks(const cuda::Gpu& gpu) : begin(gpu, true), end(gpu, true) {}
  cuda::Event begin, end;
};

RunQueue::RunQueue(Device device) {
  if (device.is_host()) return;
  gpu_ = &cuda::Gpu::get(device);
  own_.emplace(*gpu_);
}

QueuedRun::QueuedRun(const RunQueue& queue) {
  if (!queue.gpu()) return;
  const cuda::Current current(*queue.gpu());
  marks_ = std::make_shared<Marks>(*queue.gpu());
  marks_->begin.record(static_cast<cuda::StreamHandle>(queue.stream().handle));
}

void QueuedRun::end(const RunQueue& queue) {
  if (!marks_) {
    seconds_ = std::chrono::duration<double>(Clock::now() - start_).count();
    return;
  }
  const cuda::Current current(*queue.gpu());
  marks_->end.record(static_cast<cuda::StreamHandle>(queue.stream().handle));
}

double QueuedRun::wait() {
  if (!marks_) return seconds_;
  marks_->end.synchronize();
  seconds_ = cuda::Event::seconds(marks_->begin, marks_->end);
  marks_.reset();
  return seconds_;
}

} // namespace lanner
