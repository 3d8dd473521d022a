#pragma once
// Lanner's own kernels for the CPU.

#include "graph/backend.h"

namespace lanner {

/// The backend named "cpu"; there is one.
const Backend& cpu_backend();

} // namespace lanner
