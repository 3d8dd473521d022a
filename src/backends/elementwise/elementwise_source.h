#pragma once
// CUDA C++ source of one kernel for a program of elementwise operations.

#include <string>

#include "backends/elementwise/program.h"
#include "backends/elementwise/sized_kernel.h"

namespace lanner::cuda {

/// Source of `elementwise(inputs..., outputs...)`: pointers to the program's inputs that are inputs of the
/// node and to its outputs, all in the types and layouts of `tactic`.
std::string elementwise_source(const ElementwiseProgram& program, const Tactic& tactic);

/// Adjacent elements per thread.
int elementwise_width(const ElementwiseProgram& program, const Tactic& tactic);

// The same for any sizes: `sized_FORMULA(inputs..., outputs..., SizedElements)`, where FORMULA is the last
// one and all values are row-major and of their own types. Scalar constants are literals in the source.

std::string sized_name(const ElementwiseProgram& program);
std::string sized_source(const ElementwiseProgram& program, const Tactic& tactic);
/// Whether the kernel has a pointer parameter for the input.
bool is_sized_parameter(const ProgramInput& input);
/// The launch parameter; nothing where there are too many operands or axes.
std::optional<SizedElements> sized_elements(const ElementwiseProgram& program);

} // namespace lanner::cuda
