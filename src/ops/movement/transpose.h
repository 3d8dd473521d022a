#pragma once
// The permutation of a transpose.

#include <cstddef>
#include <vector>

#include "graph/attribute.h"

namespace lanner::ops {

/// Entry i is the input axis that becomes axis i of the output: `perm`, or all axes reversed where it is
/// absent. Error{invalid_argument} unless `perm` contains each axis from 0 to `rank` - 1 exactly once, with
/// no negative ones. All readers of `perm` use this function.
std::vector<std::size_t> transpose_order(const AttributeMap& attributes, std::size_t rank);

} // namespace lanner::ops
