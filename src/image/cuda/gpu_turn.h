#pragma once
// Turned pictures on a GPU.

#include <lanner/device.h>

#include "image/cuda/turn_kernel.h"

namespace lanner {

/// Queues the turning of one plane, whose memory lies on `device`, on `stream`.
void turn_on_gpu(const TurnedPlane& plane, Device device, Stream stream);

} // namespace lanner
