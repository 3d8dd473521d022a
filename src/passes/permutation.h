#pragma once
// Orders of dims.

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace lanner::passes {

/// Output dim `i` is input dim `p[i]`.
using Permutation = std::vector<std::int64_t>;

/// Of a `transpose` whose rank is known.
std::optional<Permutation> permutation_of(const Node* node);
Permutation inverse(const Permutation& p);
/// First `first`, then `second`.
Permutation compose(const Permutation& first, const Permutation& second);
bool is_identity(const Permutation& p);
Type permuted(const Type& type, const Permutation& p);
/// Whether a transpose of a value of this type leaves its elements in their order: dims of size 1 have no
/// place in memory.
bool moves_nothing(const Type& type, const Permutation& p);
/// A transpose of `value` before `before`.
Value* emit_transpose(Node& before, Value* value, const Permutation& p);
/// Joins a transpose with those it follows, and drops it or makes it a reshape where it moves nothing.
bool simplify_transpose(Node& node);

} // namespace lanner::passes
