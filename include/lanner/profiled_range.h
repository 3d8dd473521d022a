#pragma once
// Named ranges for GPU profilers.

#include <string>

#include <lanner/device.h>

namespace lanner {

/// A range of work that profilers such as Nsight Systems show by its name: an NVTX range of the calling
/// thread, from construction to destruction, which must be on one thread. With `capture` it is also what
/// profilers record when they were told to wait for it (`--capture-range=cudaProfilerApi`): overlapping
/// captured ranges count as one. Does nothing for a host device, and where the driver or NVTX's library
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
