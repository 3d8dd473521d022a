#pragma once
// Every operator with a reference kernel as a tactic: slow, always available, row-major except for reorders.

#include "graph/backend.h"

namespace lanner {

/// The backend named "reference", a singleton; its kernel has the same name. It takes nodes whose operator
/// has a reference kernel and no regions, with tensors of static shapes.
const Backend& reference_backend();

} // namespace lanner
