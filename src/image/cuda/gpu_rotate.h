#pragma once
// Rotation of pictures on a GPU.

#include <lanner/device.h>

#include "image/cuda/rotate_kernel.h"

namespace lanner {

/// Queues the rotation of one plane, whose memory is on `device`, on `stream`.
void rotate_on_gpu(const RotatedPlane& plane, Device device, Stream stream);

} // namespace lanner
