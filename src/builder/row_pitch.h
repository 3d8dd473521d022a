#pragma once
// Row pitches of inputs and outputs: rows with gaps.

#include <map>
#include <string>

#include <lanner/engine.h>

#include "graph/graph.h"

namespace lanner {

/// Extends the last dim of each input and output that has a row pitch to the pitch: a slice follows such an
/// input, a pad comes before such an output. Throws Error{invalid_argument, unsupported}.
void apply_row_pitches(Graph& graph, const std::map<std::string, BindingStorage>& storages);

} // namespace lanner
