#pragma once
// Layer and RMS normalisation over rows of memory.

#include "backends/family.h"

namespace lanner {

/// Of f32 over the last axes, row-major; with the sum in front, which others may read too.
extern const KernelFamily normalization_family;

} // namespace lanner
