#pragma once
// Kernels that read and write parts of larger values in place, with strides.

#include <span>
#include <vector>

#include "graph/graph.h"
#include "lower/propose/alternatives.h"

namespace lanner {

/// The values that a value may be a part of: results of the concatenations that it is for, and inputs of the
/// slices and splits that take it, each of which may be part of a larger one. Of these the nearest and the
/// outermost.
std::vector<Within> possible_withins(const Value& value);

/// Appends to `list`, the proposal's alternatives, the same kernels with values as parts of larger ones,
/// where they support that.
void add_strided(const Proposal& proposal, std::vector<Alternative>& list);

/// Removes useless ones: concatenations of parts that no kernel writes so, views of parts that none reads so,
/// and kernels for parts that no concatenation or view has.
void drop_useless_strided(std::span<Proposal> proposals);

} // namespace lanner
