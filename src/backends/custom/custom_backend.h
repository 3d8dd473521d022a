#pragma once
// Kernels of operators from outside (ops/table/custom.h), one tactic for each combination of storages they
// list.

#include "graph/backend.h"

namespace lanner {

/// The one backend named "custom", or "custom_cuda" for a GPU; it offers nothing for Lanner's own operators.
/// A tactic's kernel is the operator's name, its config the operator's version, the combination's number and
/// what the operator serialised.
const Backend& custom_backend(DeviceKind kind);

} // namespace lanner
