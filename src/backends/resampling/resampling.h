#pragma once
// resize, and pad where it repeats elements, in a form common to the kernels.

#include <optional>
#include <vector>

#include "backends/group.h"
#include "ops/resampling/axis_taps.h"

namespace lanner {

/// The taps of such a node's result; nothing where an input after the first is not constant, or where the
/// definition has no such tables.
std::optional<std::vector<ops::ResampledAxis>> taps_of(const GroupOp& op);

} // namespace lanner
