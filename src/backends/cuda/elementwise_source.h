#pragma once
// CUDA C++ for a group of elementwise operations.

#include <string>

#include "backends/elementwise/program.h"
#include "graph/tactic.h"

namespace lanner::cuda {

/// Source of a kernel `elementwise(inputs..., outputs...)` for values that lie as the tactic says: one thread
/// an element in the order of the first output's memory, computing in float. Equal text for equal work.
std::string elementwise_source(const ElementwiseProgram& program, const Tactic& tactic);

} // namespace lanner::cuda
