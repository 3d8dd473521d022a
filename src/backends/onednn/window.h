#pragma once
// Spatial attributes of convolutions and pools with every default filled in.

#include "backends/group.h"
#include "backends/onednn/library.h"

namespace lanner::onednn {

/// The window of a `conv` (or a pool, whose kernel is its attribute `kernel_shape`) from `input` to `output`,
/// both N, C, spatial...; `kernel` is given. End padding is set to what the output's size needs, which with
/// ceil_mode may be more than the attribute says.
Window window_of(const AttributeMap& attributes, const Dims& kernel, const Shape& input, const Shape& output);

/// The same for `conv_transpose`.
Window transposed_window_of(const AttributeMap& attributes, const Dims& kernel, const Shape& input,
                            const Shape& output);

} // namespace lanner::onednn
