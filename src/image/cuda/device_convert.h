#pragma once
// The conversion kernels' parameter.

#include "image/convert_plan.h"
#include "image/cuda/convert_kernel.h"

namespace lanner {

/// Points into both images, on whatever device their memory is.
DeviceConvert device_convert(const ConvertJob& job);

} // namespace lanner
