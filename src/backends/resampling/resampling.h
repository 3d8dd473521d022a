#pragma once
// resize, and pad where it repeats elements, as kernels read them.

#include <optional>
#include <vector>

#include "backends/group.h"
#include "ops/resampling/axis_taps.h"

namespace lanner {

/// How the result of such a node is made; nothing where an input behind the first is no constant, and where
/// its definition has no such tables.
std::optional<std::vector<ops::ResampledAxis>> taps_of(const GroupOp& op);

} // namespace lanner
