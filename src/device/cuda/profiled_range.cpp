#include <lanner/profiled_range.h>

#include "device/cuda/driver.h"
#include "device/cuda/gpu.h"
#include "device/cuda/shared_library.h"

namespace lanner {
namespace {

/// Optional functions: null where missing.
struct Profilers {
  cuda::Result (*start)() = nullptr;
  cuda::Result (*stop)() = nullptr;
  int (*push)(const char* name) = nullptr;
  int (*pop)() = nullptr;
};

Profilers find_profilers() {
  Profilers found;
  const char* const driver[] = {cuda::driver_status().path.c_str()};
  cuda::SharedLibrary calls = cuda::open_library(driver);
  if (!calls.bind("cuProfilerStart", found.start) || !calls.bind("cuProfilerStop", found.stop))
    found.start = found.stop = nullptr;
  const char* const nvtx[] = {"libnvToolsExt.so.1"};
  cuda::SharedLibrary ranges = cuda::open_library(nvtx);
  if (!ranges.bind("nvtxRangePushA", found.push) || !ranges.bind("nvtxRangePop", found.pop))
    found.push = nullptr;
  return found;
}

const Profilers& profilers() {
  static const Profilers found = find_profilers();
  return found;
}

/// Calls `function` with the device's context current; returns whether it succeeded.
bool call(Device device, cuda::Result (*function)()) noexcept {
  try {
    const cuda::Current current(cuda::Gpu::get(device));
    return function() == cuda::success;
  } catch (const Error&) {
    return false;
  }
}

} // namespace

ProfiledRange::ProfiledRange(Device device, const std::string& name, bool capture) noexcept
    : device_(device) {
  if (device.is_host() || !cuda::driver_status().driver) return;
  const Profilers& with = profilers();
  captured_ = capture && with.start && call(device, with.start);
  named_ = with.push && with.push(name.c_str()) >= 0;
}

ProfiledRange::~ProfiledRange() {
  if (named_) static_cast<void>(profilers().pop());
  if (captured_) static_cast<void>(call(device_, profilers().stop));
}

} // namespace lanner
