#pragma once
// The end of lowering: what a graph's outputs lie in.

#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "graph/graph.h"
#include "lower/options.h"

namespace lanner {

/// A kernel that output 0 of its node may, or has to, take over the memory of an input for.
struct InPlace {
  std::size_t input = 0;
  bool required = false;
};
using InPlaceKernels = std::map<const Node*, InPlace>;

/// Appends a reorder of `value` to `storage` to the graph and returns its result.
using CopyValue = std::function<Value*(Value* value, const Storage& storage, const std::string& name)>;

/// Every output becomes a value that a kernel writes, as callers hold it, to memory of its own or to that of
/// the input that it is an alias of: copies stand in for inputs, constants, second uses of one memory, and
/// for what would be written where an input is still read.
void settle_outputs(Graph& graph, const LowerOptions& options, const InPlaceKernels& in_place,
                    const CopyValue& copy);

} // namespace lanner
