#pragma once
// The kernel's parameter from a plan.

#include "image/cuda/preprocess_kernel.h"
#include "image/preprocess_plan.h"

namespace lanner {

/// Points into `image` and `plan`, wherever their memory lies: for a GPU the caller moves both there first.
/// `out` is one batch element of the tensor.
DevicePreprocess device_preprocess(const Image& image, const PreprocessPlan& plan, void* out);

} // namespace lanner
