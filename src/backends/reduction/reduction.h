#pragma once
// reduce_* nodes and global pools in a form common to the backends.

#include <optional>
#include <string>
#include <vector>

#include "backends/group.h"

namespace lanner {

/// The reduced axes; nothing where they are not constant, or none is reduced.
std::optional<std::vector<std::size_t>> reduced_axes(const GroupOp& op);
/// Accumulator type of floating-point kernels for such a node: squares in f64, as they leave the range of
/// f32.
DType accumulated_in(const std::string& kind);
/// Whether a result is a sum of several elements or products: not for maxima, nor for elementwise operators.
bool adds_up(const GroupOp& op);

} // namespace lanner
