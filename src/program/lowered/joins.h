#pragma once
// Concatenations without a copy: parts are produced in their slice of the result.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace lanner {

/// Byte offset of each part of a concatenation in its result, see part_offset(). Nothing where parts with
/// these storages are not slices that fill it.
std::optional<std::vector<std::int64_t>> joined_offsets(const Node& concat, std::span<const Storage> parts,
                                                        const Storage& result);

/// Whether the memory of a value of a lowered graph may be part of another's.
bool may_lie_in(const Value& value);

/// Whether a lowered node is such a concatenation.
bool is_join(const Node& node);

/// Whether a lowered node's outputs are views of its first input's memory, or of parts of it.
bool is_alias_of_input(const Node& node);

/// Throws Error{bad_data} where a value of a lowered graph is stored in another that is not a concatenation
/// of it, or where kernels cannot write it there.
void check_joins(const Graph& lowered);

} // namespace lanner
