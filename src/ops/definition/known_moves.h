#pragma once
// Knowledge of inference about results that hold rearranged elements of the inputs.

#include <cstddef>
#include <cstdint>

#include "graph/op.h"

namespace lanner::ops {

/// Declares the elements of output 0, of `type`, where the node only rearranges elements of its first `moved`
/// inputs, or zeros, and reads the others as numbers: its own definition says which element goes where. Does
/// nothing where the elements are unknown, or the output is not a small integer tensor.
void set_known_moved(InferContext& context, const Type& type, std::size_t moved = 1);

} // namespace lanner::ops
