#pragma once
// CPU cost of elementwise programs.

#include "backends/elementwise/program.h"

namespace lanner {

/// Estimated nanoseconds per element on one core.
double nanoseconds_of(const ElementwiseProgram& program);

} // namespace lanner
