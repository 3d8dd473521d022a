#pragma once
// Inputs by the names that users know them by.

#include <cstddef>
#include <string_view>

#include "graph/graph.h"

namespace lanner {

/// Number of the input of this name. Throws Error{invalid_argument} that tells the names there are.
std::size_t input_number(const Graph& graph, std::string_view name);

} // namespace lanner
