#pragma once
// Lanner's own CPU kernels.

#include "graph/backend.h"

namespace lanner {

/// The backend named "cpu", a singleton.
const Backend& cpu_backend();

} // namespace lanner
