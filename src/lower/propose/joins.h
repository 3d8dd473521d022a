#pragma once
// Concatenation without a copy, as a way of running it.

#include <functional>
#include <vector>

#include "graph/graph.h"
#include "lower/emit/output_memory.h"
#include "lower/propose/alternatives.h"

namespace lanner {

/// The concatenation that a value may be made in, if there is one: all of whose parts are for it.
const Node* joining_reader(const Value& value);

/// For a concatenation that each of its parts is for, the storages of its kernels in which parts that are
/// stored so make up the result.
std::vector<Alternative> joins(const Node& concat, const std::vector<Alternative>& kernels);

/// Says of the parts of each chosen join where they lie; parts that cannot be made there are copied by
/// `copy`, which puts a copy in front of a node.
void place_parts(Graph& graph, const InPlaceKernels& in_place,
                 const std::function<Value*(Value& part, Node& before)>& copy);

} // namespace lanner
