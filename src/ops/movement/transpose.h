#pragma once
// The order of axes that a transpose gives its output.

#include <cstddef>
#include <vector>

#include "graph/attribute.h"

namespace lanner::ops {

/// Entry i is the input's axis that becomes axis i of the output: `perm`, or all axes reversed where it is
/// absent. Error{invalid_argument} unless `perm` names each axis from 0 to `rank` - 1 exactly once, none
/// counted from the back. Whoever reads `perm` does so here.
std::vector<std::size_t> transpose_order(const AttributeMap& attributes, std::size_t rank);

} // namespace lanner::ops
