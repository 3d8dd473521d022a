#pragma once
// Rows of inputs and outputs that lie further apart than they are long.

#include <map>
#include <string>

#include <lanner/engine.h>

#include "graph/graph.h"

namespace lanner {

/// Makes the last dim of each input and output that has a pitch as long as that: a slice follows such an
/// input, a pad comes before such an output. Throws Error{invalid_argument, unsupported}.
void apply_row_pitches(Graph& graph, const std::map<std::string, BindingStorage>& storages);

} // namespace lanner
