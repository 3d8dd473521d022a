#pragma once
// Looks up inputs by name.

#include <cstddef>
#include <string_view>

#include "graph/graph.h"

namespace lanner {

/// Index of the input with this name. Throws Error{invalid_argument} that lists the known names.
std::size_t input_number(const Graph& graph, std::string_view name);

} // namespace lanner
