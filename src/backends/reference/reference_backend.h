#pragma once
// Every operator with a reference kernel as a tactic: slow, always there, row-major but for reorders.

#include "graph/backend.h"

namespace lanner {

/// The one backend named "reference"; its kernel has the same name. It takes nodes whose operator has a
/// reference kernel and no regions, of tensors with static shapes.
const Backend& reference_backend();

} // namespace lanner
