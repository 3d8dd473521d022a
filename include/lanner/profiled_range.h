#pragma once
// What profilers of GPUs show of a program.

#include <string>

#include <lanner/device.h>

namespace lanner {

/// A stretch of work that profilers such as Nsight Systems show by its name: an NVTX range of the calling
/// thread, from construction to destruction, which have to be on one thread. With `capture` it is also what
/// they record where they were told to wait for it (`--capture-range=cudaProfilerApi`): all ranges that are
/// captured at a time are one. Nothing for a device of the host, and where the driver or NVTX's library
/// (libnvToolsExt) is not found. Never throws.
class ProfiledRange {
public:
  ProfiledRange(Device device, const std::string& name, bool capture = false) noexcept;
  ~ProfiledRange();
  ProfiledRange(const ProfiledRange&) = delete;
  ProfiledRange& operator=(const ProfiledRange&) = delete;

private:
  Device device_;
  bool named_ = false, captured_ = false;
};

} // namespace lanner
