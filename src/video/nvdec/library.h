#pragma once
// libnvcuvid, opened at first use.

#include <optional>
#include <span>
#include <thread>

#include "base/check.h"
#include "device/cuda/gpu.h"
#include "device/cuda/shared_library.h"
#include "video/nvdec/nvcuvid_api.h"

namespace lanner::nvdec {

using LibraryStatus = cuda::LibraryStatus<Api>;

/// Opens libnvcuvid.so.1 at the first call. Never throws; safe from any thread.
const LibraryStatus& library_status();
/// The same for the SONAMEs or paths given; every call opens anew.
LibraryStatus open_library(std::span<const char* const> names);

/// The table. Throws Error{unsupported} with the reason and the remedy where there is none.
const Api& api();

/// Opens the library and `device` (the first GPU where none is given) on a thread of its own, once a process:
/// that takes tenths of a second, in which a file can be opened. Failures are left to who uses them.
class EarlyStart {
public:
  explicit EarlyStart(std::optional<Device> device);
  EarlyStart(const EarlyStart&) = delete;
  EarlyStart& operator=(const EarlyStart&) = delete;
  ~EarlyStart(); ///< Waits for it.

private:
  std::thread thread_;
};

/// Throws Error{device} (out_of_memory for that status) with the driver's own words unless `status` is
/// success.
inline void check(CUresult status, const char* call) {
  cuda::check(static_cast<cuda::Result>(status), call);
}

/// A GPU and the CUDA context that all calls of a decoder are made in.
struct GpuContext {
  const cuda::Gpu* gpu = nullptr;
  cuda::ContextHandle handle = nullptr;

  /// The caller's `context`, or the GPU's primary one.
  static GpuContext of(Device device, void* context = nullptr);
  bool primary() const noexcept { return handle == gpu->context(); }
};

} // namespace lanner::nvdec
