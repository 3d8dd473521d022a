#pragma once
// CUDA C++ source of one kernel for a program of elementwise operations.

#include <string>

#include "backends/elementwise/program.h"
#include "backends/elementwise/sized_kernel.h"

namespace lanner::cuda {

/// Of `elementwise(inputs..., outputs...)`, pointers to the program's inputs that are inputs of the node and
/// to its outputs, all in the types and layouts of `tactic`.
std::string elementwise_source(const ElementwiseProgram& program, const Tactic& tactic);

/// Neighbouring elements that one thread of it computes.
int elementwise_width(const ElementwiseProgram& program, const Tactic& tactic);

// The same without sizes: of `sized_FORMULA(inputs..., outputs..., SizedElements)`, FORMULA the last one,
// where all values are row-major and of their own types. Constants of one element are part of the code.

std::string sized_name(const ElementwiseProgram& program);
std::string sized_source(const ElementwiseProgram& program, const Tactic& tactic);
/// Whether a pointer to the input is a parameter of it.
bool is_sized_parameter(const ProgramInput& input);
/// What a launch gives; nothing where there are too many operands or axes.
std::optional<SizedElements> sized_elements(const ElementwiseProgram& program);

} // namespace lanner::cuda
