#pragma once
// The end of lowering: the memory of a graph's outputs.

#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "graph/graph.h"
#include "lower/options.h"

namespace lanner {

/// A kernel whose output 0 may, or must, use the memory of an input.
struct InPlace {
  std::size_t input = 0;
  bool required = false;
};
using InPlaceKernels = std::map<const Node*, InPlace>;

/// Appends a reorder of `value` to `storage` to the graph and returns its result.
using CopyValue = std::function<Value*(Value* value, const Storage& storage, const std::string& name)>;

/// Makes every output a value that a kernel writes in the caller's storage, to its own memory or to that of
/// the input that it aliases. Copies are added for inputs, constants, second uses of one memory, and for
/// values that would overwrite an input that is still read.
void settle_outputs(Graph& graph, const LowerOptions& options, const InPlaceKernels& in_place,
                    const CopyValue& copy);

} // namespace lanner
