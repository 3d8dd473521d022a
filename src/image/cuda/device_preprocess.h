#pragma once
// The kernel's parameter from a plan.

#include "image/cuda/preprocess_kernel.h"
#include "image/preprocess_plan.h"

namespace lanner {

/// Points into the plan's picture and taps, wherever their memory lies: for a GPU the caller moves both there
/// first. `out` is one batch element of the tensor.
DevicePreprocess device_preprocess(const PreprocessPlan& plan, void* out);

} // namespace lanner
