#pragma once
// Targets of reshapes, derived from types.

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace lanner::passes {

/// The second input of a `reshape` from `from` to `to` (0 copies a dim, -1 is inferred), when one exists that
/// is valid for all values of the symbols.
std::optional<std::vector<std::int64_t>> reshape_target(const Type& from, const Type& to);

/// A reshape of `value` before `before`, which takes over its sources.
Value* emit_reshape(Node& before, Value* value, const std::vector<std::int64_t>& target, Type type);

} // namespace lanner::passes
