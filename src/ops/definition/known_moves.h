#pragma once
// What inference knows of results that hold elements of the inputs at other places.

#include <cstddef>
#include <cstdint>

#include "graph/op.h"

namespace lanner::ops {

/// Says what output 0, of `type`, holds where the node puts elements of its first `moved` inputs at other
/// places, or zeros, and reads the others as numbers: its own definition tells which element goes where. Does
/// nothing where that is not known, or the output is not small and of integers.
void set_known_moved(InferContext& context, const Type& type, std::size_t moved = 1);

} // namespace lanner::ops
