#pragma once
// What backends read alike of reduce_* nodes and global pools.

#include <optional>
#include <vector>

#include "backends/group.h"

namespace lanner {

/// The axes along which numbers become one; nothing where they are no constant, or none is reduced.
std::optional<std::vector<std::size_t>> reduced_axes(const GroupOp& op);

} // namespace lanner
