#pragma once
// Concatenation without a copy as an alternative.

#include <functional>
#include <vector>

#include "graph/graph.h"
#include "lower/emit/output_memory.h"
#include "lower/propose/alternatives.h"

namespace lanner {

/// The concatenation in whose result a value may be produced, if there is one: all its parts must be for it.
const Node* joining_reader(const Value& value);

/// For a concatenation whose parts are all for it: alternatives with those storages of its kernels in which
/// the parts are slices of the result.
std::vector<Alternative> joins(const Node& concat, const std::vector<Alternative>& kernels);

/// Sets the location of the parts of each chosen join; parts that cannot be produced there are copied by
/// `copy`, which inserts a copy before a node.
void place_parts(Graph& graph, const InPlaceKernels& in_place,
                 const std::function<Value*(Value& part, Node& before)>& copy);

} // namespace lanner
