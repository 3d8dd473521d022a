#pragma once
// Kernels that read and write parts of larger values where they lie.

#include <span>
#include <vector>

#include "graph/graph.h"
#include "lower/propose/alternatives.h"

namespace lanner {

/// What a value may come to lie within: the results of the concatenations that it is for, and what slices and
/// splits take it from, each of which may be part of a larger one. Of these the nearest and the outermost.
std::vector<Within> possible_withins(const Value& value);

/// Appends to `list`, which is what is offered for the proposal, the same kernels with values that lie so,
/// where they take that.
void add_strided(const Proposal& proposal, std::vector<Alternative>& list);

/// Takes out what leads nowhere: concatenations of parts that no kernel writes so, views of parts that none
/// reads so, and kernels for values that no concatenation or view has so.
void drop_useless_strided(std::span<Proposal> proposals);

} // namespace lanner
