#pragma once
// What elementwise programs cost on a CPU.

#include "backends/elementwise/program.h"

namespace lanner {

/// Rough nanoseconds that an element takes on one core.
double nanoseconds_of(const ElementwiseProgram& program);

} // namespace lanner
