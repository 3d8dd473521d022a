#pragma once
// Makes the kernel's parameter from a plan.

#include "image/cuda/preprocess_kernel.h"
#include "image/preprocess_plan.h"

namespace lanner {

/// Where a component's samples are; for any image kernel.
DeviceComponent device_component(const Image& image, int component);

/// Points into the plan's picture, wherever its memory is: for a GPU the caller moves it there first. `out`
/// is one batch element of the tensor, or null where each launch sets it. Without tables: see set_taps().
DevicePreprocess device_preprocess(const PreprocessPlan& plan, void* out);

/// A tensor's type as DevicePreprocess::dtype.
std::int32_t device_number(DType type);

/// Whether the kernel needs tables of taps; otherwise it computes positions and weights itself.
inline bool needs_taps(const Preprocess& spec) {
  return spec.resize != Resize::bilinear;
}
/// Points an axis to tables.
void set_taps(DeviceAxis& axis, const Taps& taps, const std::int32_t* index, const float* weights);

} // namespace lanner
