#pragma once
// Memory of CUDA that others allocated.

#include <lanner/device.h>

namespace lanner {

/// The GPU that holds the memory at `address`. Throws Error{unsupported} where there is no driver or GPU,
/// Error{invalid_argument} for an address that is not CUDA's. Safe from any thread.
Device device_of_cuda_memory(const void* address);

} // namespace lanner
