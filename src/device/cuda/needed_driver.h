#pragma once
// Whether the driver is new enough for the machine code of this build.

#include <string>

#include <lanner/device.h>

namespace lanner::cuda {

/// Embedded machine code: see fatbin.h.
struct EmbeddedCode {
  int release = 0;    ///< 13000 for CUDA 13.0; 0: there is none.
  int capability = 0; ///< For newer GPUs it is PTX.
};

/// The CUDA version that a driver must have to run such code on a GPU of this compute capability, 0 for any.
/// Machine code runs on the drivers of its CUDA's first release and later, PTX on those of its own release
/// and later ("Minor Version Compatibility" in docs.nvidia.com, "CUDA Compatibility").
int needed_driver(const EmbeddedCode& code, int capability);

/// Why the driver of the given CUDA version (0: not known) cannot run such code, with both versions and the
/// remedy; empty: it can.
std::string driver_shortfall(const EmbeddedCode& code, int capability, int version);

/// The same for this build and a GPU of this machine; empty also where there is no such GPU.
std::string driver_shortfall(Device gpu);

} // namespace lanner::cuda
