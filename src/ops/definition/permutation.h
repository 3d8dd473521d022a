#pragma once
// Permutations of dims.

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace lanner::ops {

/// Output dim `i` is input dim `p[i]`.
using Permutation = std::vector<std::int64_t>;

/// The permutation of a `transpose` of known rank; nothing for other nodes.
std::optional<Permutation> permutation_of(const Node* node);
Permutation inverse(const Permutation& p);
/// First `first`, then `second`.
Permutation compose(const Permutation& first, const Permutation& second);
bool is_identity(const Permutation& p);
Type permuted(const Type& type, const Permutation& p);
/// Whether a transpose of a value of this type keeps the order of elements: dims of size 1 do not affect it.
bool moves_nothing(const Type& type, const Permutation& p);

} // namespace lanner::ops
