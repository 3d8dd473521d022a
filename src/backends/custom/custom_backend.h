#pragma once
// Kernels of custom operators (ops/table/custom.h), one tactic for each combination of storages that an
// operator lists.

#include "graph/backend.h"

namespace lanner {

/// The backend named "custom", or "custom_cuda" for a GPU; it offers nothing for built-in operators. A
/// tactic's kernel is the operator's name; its config holds the operator's version, the combination's number
/// and the operator's serialised state.
const Backend& custom_backend(DeviceKind kind);

} // namespace lanner
