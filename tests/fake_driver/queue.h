#pragma once
// Helpers to queue test kernels' work on the fake driver.

#include <functional>
#include <span>

#include <lanner/device.h>

#include "device/cuda/driver.h"
#include "fake_driver/fake_cuda.h"

namespace lanner::test {

/// Queues like a launch with these pointers. Throws Error{device} where the driver refuses.
inline void fake_queue(Stream stream, std::span<const void* const> pointers,
                       const std::function<void()>& work) {
  cuda::check(fake_cuda_queue_at(stream.handle, pointers.data(), pointers.size(), work), "cuLaunchKernel");
}

} // namespace lanner::test
