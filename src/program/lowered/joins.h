#pragma once
// Concatenations whose parts are made where they belong, so that nothing runs.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace lanner {

/// Where each part of a concatenation lies in its result, in bytes, where parts that are stored so make it
/// up, see part_offset(). Nothing where they do not.
std::optional<std::vector<std::int64_t>> joined_offsets(const Node& concat, std::span<const Storage> parts,
                                                        const Storage& result);

/// Whether a value of a lowered graph has memory of its own that may be part of another's.
bool may_lie_in(const Value& value);

/// Whether a lowered node is such a concatenation.
bool is_join(const Node& node);

/// Whether a lowered node's outputs are its first input's memory seen otherwise, or parts of it.
bool is_alias_of_input(const Node& node);

/// Throws Error{bad_data} where a value of a lowered graph lies in another that is no concatenation of it, or
/// where kernels cannot write it there.
void check_joins(const Graph& lowered);

} // namespace lanner
