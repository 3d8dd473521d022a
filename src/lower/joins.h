#pragma once
// Concatenation without a copy, as a way of running it.

#include <functional>
#include <set>
#include <vector>

#include "graph/graph.h"
#include "lower/alternatives.h"

namespace lanner {

/// For a concatenation that each of its parts is for, the storages of its kernels in which parts that are
/// stored so make up the result.
std::vector<Alternative> joins(const Node& concat, const std::vector<Alternative>& kernels);

/// Where values must stay, or what is done to them: what place_parts() has to keep off.
struct OverwrittenValues {
  std::set<const Value*> inputs;  ///< Their memory is taken over by a kernel that has to.
  std::set<const Value*> outputs; ///< That memory is theirs.
};

/// Says of the parts of each chosen join where they lie; parts that cannot be made there are copied by
/// `copy`, which puts a copy in front of a node.
void place_parts(Graph& graph, const OverwrittenValues& overwritten,
                 const std::function<Value*(Value& part, Node& before)>& copy);

} // namespace lanner
