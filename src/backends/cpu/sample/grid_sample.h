#pragma once
// grid_sample of f32 with up to three spatial dims, in row-major order, channels last and in blocks: what
// makes a sample is worked out once for all channels.

#include "backends/family.h"

namespace lanner {

extern const KernelFamily grid_sample_family;

} // namespace lanner
