#pragma once
// One GPU: its primary context, its properties, and the objects that belong to it.

#include <memory>
#include <string>

#include <lanner/device.h>

#include "base/check.h"
#include "device/cuda/driver.h"

namespace lanner::cuda {

/// A GPU in use by this process. Immutable; lives as long as the process. Its context is the primary one,
/// which the CUDA runtime and frameworks share.
class Gpu {
public:
  /// Opens it at the first call. Throws Error{unsupported, invalid_argument, device} where that fails.
  static const Gpu& get(Device device);

  Device device() const noexcept { return device_; }
  ContextHandle context() const noexcept { return context_; }
  const std::string& name() const noexcept { return name_; }
  int capability() const noexcept { return capability_; } ///< 90 for compute capability 9.0.
  int multiprocessors() const noexcept { return multiprocessors_; }
  /// Text that is equal for GPUs with comparable timings: `NVIDIA H100 80GB HBM3 sm_90`.
  std::string signature() const { return name_ + " sm_" + std::to_string(capability_); }

private:
  explicit Gpu(Device device);
  Device device_;
  ContextHandle context_ = nullptr;
  std::string name_;
  int capability_ = 0, multiprocessors_ = 0;
};

/// While it lives, the given context (a GPU's primary one, or a caller's own) is the calling thread's current
/// one. Nests.
class Current {
public:
  explicit Current(const Gpu& gpu) : Current(gpu.context()) {}
  explicit Current(ContextHandle context) { check(driver().context_push(context), "cuCtxPushCurrent"); }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  ~Current() {
    ContextHandle popped = nullptr;
    static_cast<void>(driver().context_pop(&popped));
  }
};

/// Queues a copy from one GPU's memory to another's on a stream of the latter, whose context is current. The
/// first such copy enables peer access between the two, where they support it; else the driver copies through
/// the host.
void copy_between(DevicePointer to, const Gpu& at, DevicePointer from, const Gpu& there, std::size_t bytes,
                  StreamHandle stream);

/// A stream of our own, not ordered with the legacy default stream.
class OwnedStream {
public:
  explicit OwnedStream(const Gpu& gpu) : OwnedStream(gpu.context()) {}
  explicit OwnedStream(ContextHandle context);
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
  ~OwnedStream();
  StreamHandle handle() const noexcept { return handle_; }
  Stream stream() const noexcept { return {handle_}; }
  void synchronize() const;

private:
  ContextHandle context_;
  StreamHandle handle_ = nullptr;
};

/// A CUDA event: a point in a stream.
class Event {
public:
  explicit Event(const Gpu& gpu, bool timed = false) : Event(gpu.context(), timed) {}
  explicit Event(ContextHandle context, bool timed = false);
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event();
  void record(StreamHandle stream);
  void wait(StreamHandle stream) const; ///< Later work of `stream` waits for the recorded point.
  void synchronize() const;
  static double seconds(const Event& from, const Event& to); ///< Both timed and reached.

private:
  ContextHandle context_;
  EventHandle handle_ = nullptr;
};

/// While it lives no other thread records a graph. Libraries record with streams of their own that the legacy
/// default stream waits for: work that is queued there meanwhile would break the recording, and fail.
/// Recorders have priority, so that they are never starved. Nests; a thread that holds one may record.
class Queueing {
public:
  explicit Queueing(Device device); ///< Does nothing for the host.
  Queueing(const Queueing&) = delete;
  Queueing& operator=(const Queueing&) = delete;
  ~Queueing();

private:
  bool active_;
};

/// A recorded CUDA graph: work that can be queued again at the cost of one launch.
class GraphExec {
public:
  /// Records what `body(stream)` queues. The stream must be idle and not the default one.
  template<typename Body>
  static std::unique_ptr<GraphExec> capture(const Gpu& gpu, const OwnedStream& stream, Body&& body) {
    const Alone alone;
    begin(gpu, stream);
    try {
      body(stream.handle());
    } catch (...) {
      abandon(gpu, stream);
      throw;
    }
    return end(gpu, stream);
  }
  GraphExec(const GraphExec&) = delete;
  GraphExec& operator=(const GraphExec&) = delete;
  ~GraphExec();
  void launch(StreamHandle stream) const;
  /// Whether every operation of a recorded graph starts after those queued before it have ended, whatever its
  /// kernel was launched with: see Note [Early starts] in order.h. Else kernels must be ordered with
  /// StreamOrder.
  static bool keeps_order();

private:
  /// While it lives no other thread queues work.
  class Alone {
  public:
    Alone();
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;
    ~Alone();
  };
  GraphExec(const Gpu& gpu, GraphExecHandle handle) : gpu_(gpu), handle_(handle) {}
  static void begin(const Gpu& gpu, const OwnedStream& stream);
  static void abandon(const Gpu& gpu, const OwnedStream& stream) noexcept;
  static std::unique_ptr<GraphExec> end(const Gpu& gpu, const OwnedStream& stream);

  const Gpu& gpu_;
  GraphExecHandle handle_;
};

/// Loaded machine code, and its kernels.
class KernelModule {
public:
  KernelModule(const Gpu& gpu, const void* image);
  KernelModule(const KernelModule&) = delete;
  KernelModule& operator=(const KernelModule&) = delete;
  ~KernelModule();
  FunctionHandle function(const char* name) const;

private:
  const Gpu& gpu_;
  ModuleHandle handle_ = nullptr;
};

} // namespace lanner::cuda
