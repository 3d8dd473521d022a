#pragma once
// Layer, RMS, group and instance normalisation over rows of memory.

#include "backends/family.h"

namespace lanner {

/// Of f32, row-major: over the last axes, with the sum in front, which others may read too, or over the
/// pixels of channels.
extern const KernelFamily normalization_family;

} // namespace lanner
