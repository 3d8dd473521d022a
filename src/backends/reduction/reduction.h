#pragma once
// What backends read alike of reduce_* nodes and global pools.

#include <optional>
#include <string>
#include <vector>

#include "backends/group.h"

namespace lanner {

/// The axes along which numbers become one; nothing where they are no constant, or none is reduced.
std::optional<std::vector<std::size_t>> reduced_axes(const GroupOp& op);
/// In which type kernels for reals add up such a node: squares in f64, as they leave the range of f32.
DType accumulated_in(const std::string& kind);
/// Whether a result is a sum of several elements or products: not of maxima, nor of what is element by
/// element.
bool adds_up(const GroupOp& op);

} // namespace lanner
